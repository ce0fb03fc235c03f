{{- define "assay.secret" -}}
{{- .Values.existingSecret | default (printf "%s-keys-%d" .Release.Name .Release.Revision) -}}
{{- end -}}
{{- define "assay.target" -}}
{{- if .Values.targetSecret }}
env:
- name: ASSAY_TARGET
  valueFrom: {secretKeyRef: {name: {{ .Values.targetSecret }}, key: target}}
{{- end }}
{{- end -}}
{{- define "assay.pod" -}}
restartPolicy: Never
automountServiceAccountToken: false
# Variables of services named assay-… would be taken for settings.
enableServiceLinks: false
terminationGracePeriodSeconds: 60
# With what a container has below, namespaces that are restricted take these pods.
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- define "assay.annotations" -}}
cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
sidecar.istio.io/inject: "false"
{{- end -}}
