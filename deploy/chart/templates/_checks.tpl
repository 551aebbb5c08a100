{{/* Values that are each possible and together are not. Every message says what to set. */}}
{{- define "gputally.checks" -}}
{{- $v := .Values -}}
{{- if not (or $v.agent.enabled $v.server.enabled) -}}
{{- fail "agent.enabled and server.enabled are both false: there is nothing to install" -}}
{{- end -}}
{{- if and $v.agent.enabled $v.server.enabled $v.agent.server.url -}}
{{- fail (printf "agent.server.url is %s, and server.enabled is true: its server would get no records. Set server.enabled=false for agents of a server elsewhere, or leave agent.server.url empty" $v.agent.server.url) -}}
{{- end -}}
{{- if and $v.agent.enabled $v.server.enabled (not $v.server.auth.kubernetes.enabled) (not $v.agent.server.tokenSecret) -}}
{{- fail "server.auth.kubernetes.enabled is false, so agents need a static token: name Secrets in agent.server.tokenSecret and server.auth.tokens.agentsSecret" -}}
{{- end -}}
{{- if and $v.server.enabled (not $v.server.auth.kubernetes.enabled) $v.agent.server.tokenSecret (not $v.server.auth.tokens.agentsSecret) -}}
{{- fail "agent.server.tokenSecret is set and server.auth.tokens.agentsSecret is not: the server would know no agent's token" -}}
{{- end -}}
{{- if and $v.server.backup.enabled (not $v.server.persistence.enabled) -}}
{{- fail "server.backup.enabled needs server.persistence.enabled: a backup of a ledger that is lost with its pod says nothing" -}}
{{- end -}}
{{- if and (eq $v.agent.gpuAccess.mode "dra") $v.agent.enabled (not (semverCompare ">=1.34.0-0" .Capabilities.KubeVersion.Version)) -}}
{{- fail (printf "agent.gpuAccess.mode=dra needs Kubernetes 1.34 or newer (adminAccess of ResourceClaims); this is %s. Choose runtimeClass, nri or privileged" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if and $v.server.enabled $v.monitoring.serviceMonitor (not $v.server.auth.kubernetes.enabled) (not $v.monitoring.tokenSecret) -}}
{{- fail "monitoring.serviceMonitor is true, and the server takes static tokens only (server.auth.kubernetes.enabled is false): name a Secret with one in monitoring.tokenSecret" -}}
{{- end -}}
{{- if gt (len $v.agent.costLabels) 16 -}}
{{- fail (printf "agent.costLabels has %d labels: 16 at most" (len $v.agent.costLabels)) -}}
{{- end -}}
{{- end -}}
