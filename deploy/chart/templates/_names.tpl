{{/* Names, labels and what several objects share. */}}

{{- define "gputally.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "gputally.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "gputally.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "gputally.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gputally.agent" -}}{{ include "gputally.fullname" . }}-agent{{- end -}}
{{- define "gputally.server" -}}{{ include "gputally.fullname" . }}-server{{- end -}}

{{/* What selects the pods of a component: never changes. Call with (list . "agent"). */}}
{{- define "gputally.selector" -}}
app.kubernetes.io/name: {{ include "gputally.name" (index . 0) | quote }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of an object of a component. Call with (list . "agent"). */}}
{{- define "gputally.labels" -}}
{{- $root := index . 0 -}}
{{ include "gputally.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: gputally
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of the pods of a component: none that changes with the chart's version,
     which would start pods again for nothing. Call with (list . "agent"). */}}
{{- define "gputally.podLabels" -}}
{{ include "gputally.selector" . }}
app.kubernetes.io/part-of: gputally
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "gputally.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}
{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gputally.pullSecrets" -}}
{{- range .Values.image.pullSecrets }}
- name: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Secret that has the server's certificate. */}}
{{- define "gputally.tlsSecret" -}}
{{- if eq .Values.server.tls.mode "secret" -}}
{{- required "server.tls.secretName: name the Secret with tls.crt, tls.key and ca.crt, or choose another server.tls.mode" .Values.server.tls.secretName -}}
{{- else -}}
{{ include "gputally.server" . }}-tls
{{- end -}}
{{- end -}}

{{/* Names that the server's certificate is for, one a line. */}}
{{- define "gputally.tlsNames" -}}
{{- $server := include "gputally.server" . -}}
{{ $server }}
{{ $server }}.{{ .Release.Namespace }}
{{ $server }}.{{ .Release.Namespace }}.svc
{{ $server }}.{{ .Release.Namespace }}.svc.cluster.local
localhost
{{- range .Values.server.tls.extraNames }}
{{ . }}
{{- end }}
{{- end -}}

{{- define "gputally.scheme" -}}
{{- if eq .Values.server.tls.mode "none" -}}http{{- else -}}https{{- end -}}
{{- end -}}

{{/* URL to which the agents ship; empty where there is no server. */}}
{{- define "gputally.serverURL" -}}
{{- if .Values.agent.server.url -}}
{{ .Values.agent.server.url }}
{{- else if .Values.server.enabled -}}
{{ include "gputally.scheme" . }}://{{ include "gputally.server" . }}.{{ .Release.Namespace }}.svc:{{ .Values.server.service.port }}
{{- end -}}
{{- end -}}

{{/* "true" where the agents prove who they are with their ServiceAccount's token. */}}
{{- define "gputally.agentToken" -}}
{{- if and (include "gputally.serverURL" .) (not .Values.agent.server.tokenSecret) (or .Values.agent.server.url .Values.server.auth.kubernetes.enabled) -}}true{{- end -}}
{{- end -}}

{{/* Secret and key of the certificates that agents check the server against. */}}
{{- define "gputally.caSecret" -}}
{{- if .Values.agent.server.url -}}{{ .Values.agent.server.caSecret }}
{{- else if and .Values.server.enabled (ne .Values.server.tls.mode "none") -}}{{ include "gputally.tlsSecret" . }}
{{- end -}}
{{- end -}}
{{- define "gputally.caKey" -}}
{{- if .Values.agent.server.url -}}{{ .Values.agent.server.caKey }}{{- else -}}ca.crt{{- end -}}
{{- end -}}
