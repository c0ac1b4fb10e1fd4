"""The fields of Kubernetes' internal types, in the order of their Go declarations.

Only data; `internal` reads it. A type's name stands at the start of a line, its fields on the lines
below, each as `Field:type`, `Field=jsonName:type` where the JSON name is not the Go name with a small
first letter, `jsonName?:type` for fields of versioned types that are left out when empty, and `@Type`
or `@jsonName:Type` for an embedded type. Types: `s` text, `i` number, `b` boolean, `q` quantity,
`o` int-or-string, `t` time, `n` anything that is null when absent and shown as it is (pointers to
scalars, lists of scalars), `{}` a map, `[]Type` and `{}Type` lists and maps of a type, `*Type` a
pointer to a type.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FIELDS"]

FIELDS: Final = """\
PodTemplateSpec
  @metadata:ObjectMeta Spec:PodSpec
ObjectMeta
  name?:s generateName?:s namespace?:s selfLink?:s uid?:s resourceVersion?:s generation?:i
  creationTimestamp?:n deletionTimestamp?:n deletionGracePeriodSeconds?:n labels?:{} annotations?:{}
  ownerReferences?:[]OwnerReference finalizers?:n managedFields?:n
PodSpec
  Volumes:[]Volume InitContainers:[]Container Containers:[]Container
  EphemeralContainers:[]EphemeralContainer RestartPolicy:s TerminationGracePeriodSeconds:n
  ActiveDeadlineSeconds:n DNSPolicy=dnsPolicy:s NodeSelector:{} ServiceAccountName:s
  DeprecatedServiceAccount=serviceAccount:s AutomountServiceAccountToken:n NodeName:s HostNetwork:b
  HostPID:b HostIPC:b ShareProcessNamespace:n SecurityContext:*PodSecurityContext
  ImagePullSecrets:[]LocalObjectReference Hostname:s Subdomain:s Affinity:*Affinity SchedulerName:s
  Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName:s Priority:n
  DNSConfig=dnsConfig:*PodDNSConfig ReadinessGates:[]PodReadinessGate RuntimeClassName:n
  EnableServiceLinks:n PreemptionPolicy:n Overhead:{}q
  TopologySpreadConstraints:[]TopologySpreadConstraint SetHostnameAsFQDN:n OS=os:*PodOS HostUsers:n
  SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim
  Resources:*ResourceRequirements HostnameOverride:n SchedulingGroup:*PodSchedulingGroup
  EvictionResponders:[]EvictionResponder
Volume
  Name:s @VolumeSource
VolumeSource
  HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
  GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource
  AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource
  GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS=nfs:*NFSVolumeSource
  ISCSI=iscsi:*ISCSIVolumeSource Glusterfs:*GlusterfsVolumeSource
  PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD=rbd:*RBDVolumeSource
  FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource CephFS=cephfs:*CephFSVolumeSource
  Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource FC=fc:*FCVolumeSource
  AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource
  VsphereVolume:*VsphereVirtualDiskVolumeSource Quobyte:*QuobyteVolumeSource
  AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource
  Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource
  StorageOS=storageos:*StorageOSVolumeSource CSI=csi:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource
  Image:*ImageVolumeSource
HostPathVolumeSource
  Path:s Type:n
EmptyDirVolumeSource
  Medium:s SizeLimit:*q Mode:n
GCEPersistentDiskVolumeSource
  PDName=pdName:s FSType=fsType:s Partition:i ReadOnly:b
AWSElasticBlockStoreVolumeSource
  VolumeID:s FSType=fsType:s Partition:i ReadOnly:b
GitRepoVolumeSource
  Repository:s Revision:s Directory:s
SecretVolumeSource
  SecretName:s Items:[]KeyToPath DefaultMode:n Optional:n DefaultUser:n
KeyToPath
  Key:s Path:s Mode:n User:n
NFSVolumeSource
  Server:s Path:s ReadOnly:b
ISCSIVolumeSource
  TargetPortal:s IQN=iqn:s Lun:i ISCSIInterface=iscsiInterface:s FSType=fsType:s ReadOnly:b Portals:n
  DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b
  SecretRef:*LocalObjectReference InitiatorName:n
LocalObjectReference
  Name:s
GlusterfsVolumeSource
  EndpointsName=endpoints:s Path:s ReadOnly:b
PersistentVolumeClaimVolumeSource
  ClaimName:s ReadOnly:b
RBDVolumeSource
  CephMonitors=monitors:n RBDImage=image:s FSType=fsType:s RBDPool=pool:s RadosUser=user:s Keyring:s
  SecretRef:*LocalObjectReference ReadOnly:b
FlexVolumeSource
  Driver:s FSType=fsType:s SecretRef:*LocalObjectReference ReadOnly:b Options:{}
CinderVolumeSource
  VolumeID:s FSType=fsType:s ReadOnly:b SecretRef:*LocalObjectReference
CephFSVolumeSource
  Monitors:n Path:s User:s SecretFile:s SecretRef:*LocalObjectReference ReadOnly:b
FlockerVolumeSource
  DatasetName:s DatasetUUID:s
DownwardAPIVolumeSource
  Items:[]DownwardAPIVolumeFile DefaultMode:n DefaultUser:n
DownwardAPIVolumeFile
  Path:s FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:n User:n
ObjectFieldSelector
  APIVersion=apiVersion:s FieldPath:s
ResourceFieldSelector
  ContainerName:s Resource:s Divisor:q
FCVolumeSource
  TargetWWNs:n Lun:n FSType=fsType:s ReadOnly:b WWIDs=wwids:n
AzureFileVolumeSource
  SecretName:s ShareName:s ReadOnly:b
ConfigMapVolumeSource
  @LocalObjectReference Items:[]KeyToPath DefaultMode:n Optional:n DefaultUser:n
VsphereVirtualDiskVolumeSource
  VolumePath:s FSType=fsType:s StoragePolicyName:s StoragePolicyID:s
QuobyteVolumeSource
  Registry:s Volume:s ReadOnly:b User:s Group:s Tenant:s
AzureDiskVolumeSource
  DiskName:s DataDiskURI=diskURI:s CachingMode:n FSType=fsType:n ReadOnly:n Kind:n
PhotonPersistentDiskVolumeSource
  PdID:s FSType=fsType:s
ProjectedVolumeSource
  Sources:[]VolumeProjection DefaultMode:n DefaultUser:n
VolumeProjection
  Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
  ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
  PodCertificate:*PodCertificateProjection
SecretProjection
  @LocalObjectReference Items:[]KeyToPath Optional:n
DownwardAPIProjection
  Items:[]DownwardAPIVolumeFile
ConfigMapProjection
  @LocalObjectReference Items:[]KeyToPath Optional:n
ServiceAccountTokenProjection
  Audience:s ExpirationSeconds:n Path:s User:n
ClusterTrustBundleProjection
  Name:n SignerName:n LabelSelector:*LabelSelector Optional:n Path:s User:n
LabelSelector
  matchLabels?:{} matchExpressions?:[]LabelSelectorRequirement
PodCertificateProjection
  SignerName:s KeyType:s MaxExpirationSeconds:n CredentialBundlePath:s KeyPath:s
  CertificateChainPath:s UserAnnotations:{} User:n
PortworxVolumeSource
  VolumeID:s FSType=fsType:s ReadOnly:b
ScaleIOVolumeSource
  Gateway:s System:s SecretRef:*LocalObjectReference SSLEnabled=sslEnabled:b ProtectionDomain:s
  StoragePool:s StorageMode:s VolumeName:s FSType=fsType:s ReadOnly:b
StorageOSVolumeSource
  VolumeName:s VolumeNamespace:s FSType=fsType:s ReadOnly:b SecretRef:*LocalObjectReference
CSIVolumeSource
  Driver:s ReadOnly:n FSType=fsType:n VolumeAttributes:{} NodePublishSecretRef:*LocalObjectReference
EphemeralVolumeSource
  VolumeClaimTemplate:*PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate
  @metadata:ObjectMeta Spec:PersistentVolumeClaimSpec
PersistentVolumeClaimSpec
  AccessModes:n Selector:*LabelSelector Resources:VolumeResourceRequirements VolumeName:s
  StorageClassName:n VolumeMode:n DataSource:*TypedLocalObjectReference
  DataSourceRef:*TypedObjectReference VolumeAttributesClassName:n
VolumeResourceRequirements
  Limits:{}q Requests:{}q
TypedLocalObjectReference
  APIGroup=apiGroup:n Kind:s Name:s
TypedObjectReference
  APIGroup=apiGroup:n Kind:s Name:s Namespace:n
ImageVolumeSource
  Reference:s PullPolicy:s
Container
  Name:s Image:s Command:n Args:n WorkingDir:s Ports:[]ContainerPort EnvFrom:[]EnvFromSource
  Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:n
  RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice
  LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle
  TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s
  SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY=tty:b
ContainerPort
  Name:s HostPort:i ContainerPort:i Protocol:s HostIP:s
EnvFromSource
  Prefix:s ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
ConfigMapEnvSource
  @LocalObjectReference Optional:n
SecretEnvSource
  @LocalObjectReference Optional:n
EnvVar
  Name:s Value:s ValueFrom:*EnvVarSource
EnvVarSource
  FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
  ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
ConfigMapKeySelector
  @LocalObjectReference Key:s Optional:n
SecretKeySelector
  @LocalObjectReference Key:s Optional:n
FileKeySelector
  VolumeName:s Path:s Key:s Optional:n
ResourceRequirements
  Limits:{}q Requests:{}q Claims:[]ResourceClaim
ResourceClaim
  Name:s Request:s
ContainerResizePolicy
  ResourceName:s RestartPolicy:s
ContainerRestartRule
  Action:s ExitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes
  Operator:s Values:n
VolumeMount
  Name:s ReadOnly:b RecursiveReadOnly:n MountPath:s SubPath:s MountPropagation:n SubPathExpr:s
  BindMountOptions:n
VolumeDevice
  Name:s DevicePath:s
Probe
  @ProbeHandler InitialDelaySeconds:i TimeoutSeconds:i PeriodSeconds:i SuccessThreshold:i
  FailureThreshold:i TerminationGracePeriodSeconds:n
ProbeHandler
  Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction
  GRPC=grpc:*GRPCAction
ExecAction
  Command:n
HTTPGetAction
  Path:s Port:o Host:s Scheme:s HTTPHeaders=httpHeaders:[]HTTPHeader Protocol:n
HTTPHeader
  Name:s Value:s
TCPSocketAction
  Port:o Host:s
GRPCAction
  Port:i Service:n Mode:n
Lifecycle
  PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:n
LifecycleHandler
  Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction
  Sleep:*SleepAction
SleepAction
  Seconds:i
SecurityContext
  Capabilities:*Capabilities Privileged:n SELinuxOptions=seLinuxOptions:*SELinuxOptions
  WindowsOptions:*WindowsSecurityContextOptions RunAsUser:n RunAsGroup:n RunAsNonRoot:n
  ReadOnlyRootFilesystem:n AllowPrivilegeEscalation:n ProcMount:n SeccompProfile:*SeccompProfile
  AppArmorProfile:*AppArmorProfile
Capabilities
  Add:n Drop:n
SELinuxOptions
  User:s Role:s Type:s Level:s
WindowsSecurityContextOptions
  GMSACredentialSpecName=gmsaCredentialSpecName:n GMSACredentialSpec=gmsaCredentialSpec:n
  RunAsUserName:n HostProcess:n
SeccompProfile
  Type:s LocalhostProfile:n
AppArmorProfile
  Type:s LocalhostProfile:n
EphemeralContainer
  @Container TargetContainerName:s
PodSecurityContext
  SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions
  RunAsUser:n RunAsGroup:n RunAsNonRoot:n SupplementalGroups:n SupplementalGroupsPolicy:n
  FSGroup=fsGroup:n Sysctls:[]Sysctl FSGroupChangePolicy=fsGroupChangePolicy:n
  SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
  SELinuxChangePolicy=seLinuxChangePolicy:n
Sysctl
  Name:s Value:s
Affinity
  NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
NodeAffinity
  RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeSelector
  NodeSelectorTerms:[]NodeSelectorTerm
NodeSelectorTerm
  MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement
NodeSelectorRequirement
  Key:s Operator:s Values:n
PreferredSchedulingTerm
  Weight:i Preference:NodeSelectorTerm
PodAffinity
  RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm
  LabelSelector:*LabelSelector Namespaces:n TopologyKey:s NamespaceSelector:*LabelSelector
  MatchLabelKeys:n MismatchLabelKeys:n
WeightedPodAffinityTerm
  Weight:i PodAffinityTerm:PodAffinityTerm
PodAntiAffinity
  RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
Toleration
  Key:s Operator:s Value:s Effect:s TolerationSeconds:n
HostAlias
  IP=ip:s Hostnames:n
PodDNSConfig
  Nameservers:n Searches:n Options:[]PodDNSConfigOption
PodDNSConfigOption
  Name:s Value:n
PodReadinessGate
  ConditionType:s
TopologySpreadConstraint
  MaxSkew:i TopologyKey:s WhenUnsatisfiable:s LabelSelector:*LabelSelector MinDomains:n
  NodeAffinityPolicy:n NodeTaintsPolicy:n MatchLabelKeys:n
PodOS
  Name:s
PodSchedulingGate
  Name:s
PodResourceClaim
  Name:s ResourceClaimName:n ResourceClaimTemplateName:n
PodSchedulingGroup
  PodGroupName:n
EvictionResponder
  Name:s Priority:n
PersistentVolumeClaim
  @metadata:ObjectMeta Spec:PersistentVolumeClaimSpec Status:PersistentVolumeClaimStatus
PersistentVolumeClaimStatus
  Phase:s AccessModes:n Capacity:{}q Conditions:[]PersistentVolumeClaimCondition
  AllocatedResources:{}q AllocatedResourceStatuses:{} CurrentVolumeAttributesClassName:n
  ModifyVolumeStatus:*ModifyVolumeStatus HealthStatus:*VolumeHealthStatus
PersistentVolumeClaimCondition
  Type:s Status:s LastProbeTime:t LastTransitionTime:t Reason:s Message:s
ModifyVolumeStatus
  TargetVolumeAttributesClassName:s Status:s
VolumeHealthStatus
  HealthConditions:[]VolumeHealthCondition LastTransitionTime:t
VolumeHealthCondition
  Status:s Reason:s Message:s
DeploymentStrategy
  Type:s RollingUpdate:*RollingUpdateDeployment
RollingUpdateDeployment
  MaxUnavailable:o MaxSurge:o
StatefulSetUpdateStrategy
  Type:s RollingUpdate:*RollingUpdateStatefulSetStrategy
RollingUpdateStatefulSetStrategy
  Partition:i MaxUnavailable:n
DaemonSetUpdateStrategy
  Type:s RollingUpdate:*RollingUpdateDaemonSet
RollingUpdateDaemonSet
  MaxUnavailable:o MaxSurge:o
SuccessPolicy
  Rules:[]SuccessPolicyRule
SuccessPolicyRule
  SucceededIndexes:n SucceededCount:n
PodFailurePolicy
  Rules:[]PodFailurePolicyRule
PodFailurePolicyRule
  Action:s OnExitCodes:*PodFailurePolicyOnExitCodesRequirement
  OnPodConditions:[]PodFailurePolicyOnPodConditionsPattern
PodFailurePolicyOnExitCodesRequirement
  ContainerName:n Operator:s Values:n
PodFailurePolicyOnPodConditionsPattern
  Type:s Status:s
UncountedTerminatedPods
  Succeeded:n Failed:n
PodIP
  IP=ip:s
HostIP
  IP=ip:s
LabelSelectorRequirement
  key:s operator:s values?:n
OwnerReference
  apiVersion:s kind:s name:s uid:s controller?:n blockOwnerDeletion?:n
"""
