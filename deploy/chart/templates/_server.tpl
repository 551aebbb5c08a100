{{/* The server's configuration file. Its keys are those of docs/server-config.md. */}}

{{- define "gputally.serverConfig" -}}
{{- $s := .Values.server -}}
{{- $c := dict "data-dir" "/var/lib/gputally" "listen" ":9403" "memory" (int $s.memory) "threads" (int $s.threads) "log-format" "json" -}}
{{- if eq $s.tls.mode "none" -}}
{{- $_ := set $c "behind-proxy" true -}}
{{- else -}}
{{- $_ := set $c "tls-cert" "/etc/gputally/tls/tls.crt" -}}
{{- $_ := set $c "tls-key" "/etc/gputally/tls/tls.key" -}}
{{- end -}}
{{- if $s.auth.kubernetes.enabled -}}
{{- $agents := $s.auth.kubernetes.agentServiceAccounts -}}
{{- if .Values.agent.enabled -}}
{{- $agents = prepend $agents (printf "%s/%s" .Release.Namespace (include "gputally.agent" .)) -}}
{{- end -}}
{{- $_ := set $c "kube-auth" true -}}
{{- $_ := set $c "audience" $s.auth.kubernetes.audience -}}
{{- if $agents -}}{{- $_ := set $c "agent-service-account" $agents -}}{{- end -}}
{{- with .Values.cluster -}}{{- $_ := set $c "cluster" . -}}{{- end -}}
{{- end -}}
{{- range $role, $secret := dict "agent" $s.auth.tokens.agentsSecret "read" $s.auth.tokens.readersSecret "write" $s.auth.tokens.writersSecret -}}
{{- if $secret -}}{{- $_ := set $c (printf "%s-token-file" $role) (printf "/etc/gputally/tokens/%s/tokens" $role) -}}{{- end -}}
{{- end -}}
{{- if $s.priceBooks -}}
{{- $books := list -}}
{{- range $s.priceBooks -}}
{{- $books = append $books (ternary (printf "/etc/gputally/books/%s/%s" .name (default "prices.yaml" .key)) (printf "/etc/gputally/prices/%s.yaml" .name) (not (empty .configMap))) -}}
{{- end -}}
{{- $_ := set $c "price-book" $books -}}
{{- end -}}
{{- if $s.policy -}}{{- $_ := set $c "policy-file" "/etc/gputally/prices/policy.yaml" -}}{{- end -}}
{{- if $s.backup.enabled -}}
{{- $_ := set $c "backup-dir" "/var/backups/gputally" -}}
{{- $_ := set $c "backup-every" $s.backup.every -}}
{{- $_ := set $c "backup-keep" (int $s.backup.keep) -}}
{{- end -}}
{{- if and .Values.agent.costLabels (not (hasKey $s.config "cost-label")) -}}{{- $_ := set $c "cost-label" .Values.agent.costLabels -}}{{- end -}}
{{- toYaml (merge $c $s.config) -}}
{{- end -}}

{{/* Names of the price books that are given here. */}}
{{- define "gputally.ownBooks" -}}
{{- range .Values.server.priceBooks -}}{{- if .content -}}{{ .name }} {{ end -}}{{- end -}}
{{- end -}}

{{/* Whether the server asks the API server. */}}
{{- define "gputally.serverAsks" -}}
{{- if .Values.server.auth.kubernetes.enabled -}}true{{- end -}}
{{- end -}}
