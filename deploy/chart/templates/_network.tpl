{{/* Where agents and server connect to: names, and the API server. */}}
{{- define "gputally.egressToCluster" -}}
- ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - {port: {{ . }}, protocol: UDP}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.networkPolicy.dnsTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
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
