{{- define "highlander.labels" -}}
app.kubernetes.io/name: highlander
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "highlander.metadata" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "highlander.labels" . | nindent 2 }}
{{- end -}}
{{- define "highlander.workloadRules" -}}
- apiGroups: [""]
  resources: [pods, services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch, delete]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end -}}
{{- define "highlander.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ .Release.Name }}
    namespace: {{ .Release.Namespace }}
{{- end -}}
{{- /* How the controllers keep the lock themselves; nothing if something else does. */ -}}
{{- define "highlander.raft" -}}
{{- if eq .Values.config.storageType "raft" -}}
{{- $raft := default dict .Values.config.raft -}}
{{- if gt (len (default list .Values.config.tenants)) 1 -}}
{{- fail "storageType raft: controllers serve one tenant then; have a release for each" -}}
{{- end -}}
{{- $needed := "storageType raft: config.raft.service is needed, the name of the controllers' own Service" -}}
{{- if eq (required $needed $raft.service) .Release.Name -}}
{{- fail (printf "config.raft.service: %s is the Service of their API; it needs another name" .Release.Name) -}}
{{- end -}}
{{- toYaml $raft -}}
{{- end -}}
{{- end -}}
