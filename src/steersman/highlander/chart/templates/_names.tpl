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
  resources: [pods]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [services]
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
