{{/* Where agents and server connect to: names, and the API server. */}}
{{- define "gputally.egressToCluster" -}}
- to:
    - namespaceSelector: {}
      podSelector:
        matchLabels: {k8s-app: kube-dns}
    # A cache of names on the node.
    - ipBlock: {cidr: 169.254.0.0/16}
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.networkPolicy.apiServerTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The port of a URL. */}}
{{- define "gputally.portOf" -}}
{{- $host := (urlParse .).host -}}
{{- if regexMatch ":[0-9]+$" $host -}}{{ regexFind "[0-9]+$" $host }}
{{- else if hasPrefix "http://" . -}}80
{{- else -}}443
{{- end -}}
{{- end -}}
