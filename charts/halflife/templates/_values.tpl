{{/* What values set in the objects. Like those of _manifests.tpl, the templates of a state print nothing. */}}

{{- define "halflife.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* As the name of an image has it: only a first part with a dot or a port, or localhost, is a registry. */}}
{{- define "halflife.image" -}}
{{- $image := .Values.image -}}
{{- $name := $image.repository -}}
{{- with .Values.global.imageRegistry -}}
{{- $name = printf "%s/%s" . (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $name "") -}}
{{- end -}}
{{- $name -}}
{{- if or $image.tag (not $image.digest) }}:{{ default .Chart.AppVersion $image.tag }}{{ end -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Gives a container a setting, in place of one of that name. container, name, value */}}
{{- define "halflife.setArgument" -}}
{{- $flag := printf "--%s" .name -}}
{{- $args := list -}}
{{- $isValue := false -}}
{{- range .container.args -}}
{{- if $isValue -}}
{{- $isValue = false -}}
{{- else if eq . $flag -}}
{{- $isValue = true -}}
{{- else if not (hasPrefix (printf "%s=" $flag) .) -}}
{{- $args = append $args . -}}
{{- end -}}
{{- end -}}
{{- $value := kindIs "float64" .value | ternary (toString (int64 .value)) (toString .value) -}}
{{- $_ := set .container "args" (append $args (printf "%s=%s" $flag $value)) -}}
{{- end -}}

{{/* A Deployment's pods by values. root, deployment, values */}}
{{- define "halflife.setPods" -}}
{{- $template := .deployment.spec.template -}}
{{- $spec := $template.spec -}}
{{- $container := first $spec.containers -}}
{{- $image := .root.Values.image -}}
{{- $_ := set $container "image" (include "halflife.image" .root) -}}
{{- with $image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- range $image.pullSecrets -}}
{{- $_ := set $spec "imagePullSecrets" (append (default list $spec.imagePullSecrets) (dict "name" .)) -}}
{{- end -}}
{{- range $name, $value := .values.settings -}}
{{- include "halflife.setArgument" (dict "container" $container "name" $name "value" $value) -}}
{{- end -}}
{{- with .root.Values.exemptNamespaces -}}
{{- include "halflife.setArgument" (dict "container" $container "name" "exempt-namespaces" "value" (join "," .)) -}}
{{- end -}}
{{- with .values.env }}{{ $_ := set $container "env" (concat (default list $container.env) .) }}{{ end -}}
{{- with .values.resources }}{{ $_ := set $container "resources" . }}{{ end -}}
{{- with .values.nodeSelector }}{{ $_ := set $spec "nodeSelector" (mergeOverwrite (dict) $spec.nodeSelector .) }}{{ end -}}
{{- range $member := list "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" -}}
{{- with get $.values $member }}{{ $_ := set $spec $member . }}{{ end -}}
{{- end -}}
{{- with .values.podLabels -}}
{{- $_ := set $template.metadata "labels" (merge (dict) $template.metadata.labels .) -}}
{{- end -}}
{{- with .values.podAnnotations }}{{ $_ := set $template.metadata "annotations" . }}{{ end -}}
{{- with .values.extraVolumes }}{{ $_ := set $spec "volumes" (concat (default list $spec.volumes) .) }}{{ end -}}
{{- with .values.extraVolumeMounts -}}
{{- $_ := set $container "volumeMounts" (concat (default list $container.volumeMounts) .) -}}
{{- end -}}
{{- end -}}

{{/* How many controllers there are: one, or for a while none. deployment, replicas */}}
{{- define "halflife.setReplicas" -}}
{{- if not (kindIs "invalid" .replicas) -}}
{{- if gt (int .replicas) 1 -}}
{{- fail (printf "controller.replicas is %d, but the controller keeps what it learns in an SQLite database, which one process owns: set it to 1. Replicas that answer deploys are admission.replicas." (int .replicas)) -}}
{{- end -}}
{{- $_ := set .deployment.spec "replicas" (int .replicas) -}}
{{- end -}}
{{- end -}}

{{/* The volume of a Deployment by values. deployment, values */}}
{{- define "halflife.setVolume" -}}
{{- range .deployment.spec.template.spec.volumes -}}
{{- if .persistentVolumeClaim -}}
{{- if not $.values.enabled -}}
{{- $_ := set (unset . "persistentVolumeClaim") "emptyDir" dict -}}
{{- else if $.values.existingClaim -}}
{{- $_ := set .persistentVolumeClaim "claimName" $.values.existingClaim -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The port of a Deployment's server. deployment, port */}}
{{- define "halflife.setPort" -}}
{{- $container := first .deployment.spec.template.spec.containers -}}
{{- include "halflife.setArgument" (dict "container" $container "name" "serve-listen" "value" (printf ":%d" (int .port))) -}}
{{- range $container.ports -}}
{{- if eq .name "https" }}{{ $_ := set . "containerPort" (int $.port) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The webhooks by values. root, configuration */}}
{{- define "halflife.setWebhooks" -}}
{{- $values := .root.Values -}}
{{- range $webhook := .configuration.webhooks -}}
{{- include "halflife.setUser" (dict "root" $.root "conditions" .matchConditions) -}}
{{- range .namespaceSelector.matchExpressions -}}
{{- $exempt := include "halflife.exempt" (dict "root" $.root "usual" .values) | fromJsonArray -}}
{{- $_ := set . "values" (concat $exempt $values.admission.excludedNamespaces) -}}
{{- end -}}
{{- if eq .name "workloads.halflife.dev" -}}
{{- $kinds := dict "root" $.root "rules" $webhook.rules "operations" (list "CREATE" "UPDATE") -}}
{{- $_ := set $webhook "rules" (include "halflife.withKinds" $kinds | fromJsonArray) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Exempt namespaces as JSON: those of values, else the usual ones, and halflife's own. root, usual */}}
{{- define "halflife.exempt" -}}
{{- $own := include "halflife.namespace" .root -}}
{{- append (default (without .usual "halflife") .root.Values.exemptNamespaces) $own | toJson -}}
{{- end -}}

{{/* Rules of admission as JSON, with one for each of extraKinds. root, rules, operations */}}
{{- define "halflife.withKinds" -}}
{{- $rules := .rules -}}
{{- range .root.Values.extraKinds -}}
{{- $rules = append $rules (dict "apiGroups" (list .apiGroup) "apiVersions" (list "*") "resources" .resources "operations" $.operations "scope" "Namespaced") -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}

{{/* Has conditions on halflife's accounts name its namespace. root, conditions */}}
{{- define "halflife.setUser" -}}
{{- $user := printf "serviceaccount:%s:" (include "halflife.namespace" .root) -}}
{{- range .conditions -}}
{{- $_ := set . "expression" (.expression | replace "serviceaccount:halflife:" $user) -}}
{{- end -}}
{{- end -}}

{{/* The port of a URL */}}
{{- define "halflife.urlPort" -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- default (eq $url.scheme "https" | ternary "443" "80") $port -}}
{{- end -}}

{{/* The egress to further ports, and to Prometheus where it has a port that is not among them. root, policy */}}
{{- define "halflife.setEgress" -}}
{{- $egress := first .policy.spec.egress -}}
{{- $ports := .root.Values.networkPolicy.egressPorts -}}
{{- with get (default dict .root.Values.controller.settings) "prometheus-url" -}}
{{- $ports = prepend $ports (int (include "halflife.urlPort" .)) -}}
{{- end -}}
{{- $have := list -}}
{{- range $egress.ports }}{{ $have = append $have (toString .port) }}{{ end -}}
{{- range $port := $ports -}}
{{- if not (has (toString $port) $have) -}}
{{- $have = append $have (toString $port) -}}
{{- $_ := set $egress "ports" (append $egress.ports (dict "port" $port)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The policy by values. root, policy */}}
{{- define "halflife.setPolicy" -}}
{{- $spec := .policy.spec -}}
{{- $constraints := $spec.matchConstraints -}}
{{- $kinds := dict "root" .root "rules" $constraints.resourceRules "operations" (list "CREATE" "UPDATE" "DELETE") -}}
{{- $_ := set $constraints "resourceRules" (include "halflife.withKinds" $kinds | fromJsonArray) -}}
{{- include "halflife.setUser" (dict "root" .root "conditions" $spec.matchConditions) -}}
{{- range $spec.variables -}}
{{- if eq .name "exemptNamespaces" -}}
{{- $exempt := include "halflife.exempt" (dict "root" $.root "usual" (fromJsonArray .expression)) -}}
{{- $_ := set . "expression" $exempt -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A rule for each of extraKinds. role, kinds, verbs */}}
{{- define "halflife.addRules" -}}
{{- range .kinds -}}
{{- $rule := dict "apiGroups" (list .apiGroup) "resources" .resources "verbs" $.verbs -}}
{{- $_ := set $.role "rules" (append (default list $.role.rules) $rule) -}}
{{- end -}}
{{- end -}}

{{/* The role by which the controller reads and patches extraKinds. state */}}
{{- define "halflife.addKinds" -}}
{{- $values := .root.Values -}}
{{- with $values.extraKinds -}}
{{- $role := dict "apiVersion" "rbac.authorization.k8s.io/v1" "kind" "ClusterRole" "metadata" (dict "name" "halflife-controller-extra" "labels" (dict "halflife.dev/aggregate-to-controller" "true")) -}}
{{- $verbs := concat (list "get" "list" "watch") ($values.readOnly.enabled | ternary list (list "patch")) -}}
{{- include "halflife.addRules" (dict "role" $role "kinds" . "verbs" $verbs) -}}
{{- $_ := set $ "objects" (append $.objects $role) -}}
{{- end -}}
{{- end -}}

{{/* Whether values leave an object out: "true" or nothing. root, object */}}
{{- define "halflife.isOmitted" -}}
{{- $values := .root.Values -}}
{{- $wanted := dict
      "Namespace" $values.namespace.create
      "NetworkPolicy" $values.networkPolicy.enabled
      "PersistentVolumeClaim" (and $values.persistence.enabled (not $values.persistence.existingClaim))
      "ServiceMonitor" $values.serviceMonitor.enabled
      "PrometheusRule" $values.alerts.enabled -}}
{{- if and (hasKey $wanted .object.kind) (not (get $wanted .object.kind)) }}true{{ end -}}
{{- end -}}

{{/* Where Grafana's sidecar finds the dashboards. metadata, values */}}
{{- define "halflife.setDashboards" -}}
{{- with .values.namespace }}{{ $_ := set $.metadata "namespace" . }}{{ end -}}
{{- range $member := list "labels" "annotations" -}}
{{- $_ := set $.metadata $member (mergeOverwrite (dict) (get $.metadata $member) (get $.values $member)) -}}
{{- end -}}
{{- end -}}

{{/* One object by values. root, object */}}
{{- define "halflife.setObject" -}}
{{- $values := .root.Values -}}
{{- $object := .object -}}
{{- $name := printf "%s/%s" .object.kind .object.metadata.name -}}
{{- if eq $name "Deployment/halflife" -}}
{{- include "halflife.setPods" (dict "root" .root "deployment" $object "values" $values.controller) -}}
{{- include "halflife.setReplicas" (dict "deployment" $object "replicas" $values.controller.replicas) -}}
{{- include "halflife.setVolume" (dict "deployment" $object "values" $values.persistence) -}}
{{- else if eq $name "Deployment/halflife-serve" -}}
{{- include "halflife.setPods" (dict "root" .root "deployment" $object "values" $values.admission) -}}
{{- with $values.admission.port }}{{ include "halflife.setPort" (dict "deployment" $object "port" .) }}{{ end -}}
{{- with $values.admission.replicas }}{{ $_ := set $object.spec "replicas" . }}{{ end -}}
{{- else if eq $name "Deployment/halflife-rotate" -}}
{{- include "halflife.setPods" (dict "root" .root "deployment" $object "values" $values.rotate) -}}
{{- else if eq $name "ServiceAccount/halflife" -}}
{{- with $values.controller.serviceAccountAnnotations }}{{ $_ := set $object.metadata "annotations" . }}{{ end -}}
{{- else if eq .object.kind "PersistentVolumeClaim" -}}
{{- with $values.persistence.storageClass }}{{ $_ := set $object.spec "storageClassName" . }}{{ end -}}
{{- with $values.persistence.size }}{{ $_ := set $object.spec.resources.requests "storage" . }}{{ end -}}
{{- else if eq .object.kind "MutatingWebhookConfiguration" -}}
{{- include "halflife.setWebhooks" (dict "root" .root "configuration" $object) -}}
{{- else if eq .object.kind "NetworkPolicy" -}}
{{- include "halflife.setEgress" (dict "root" .root "policy" $object) -}}
{{- else if eq .object.kind "ValidatingAdmissionPolicy" -}}
{{- include "halflife.setPolicy" (dict "root" .root "policy" $object) -}}
{{- else if eq $name "ClusterRole/halflife-serve" -}}
{{- include "halflife.addRules" (dict "role" $object "kinds" $values.extraKinds "verbs" (list "get")) -}}
{{- else if eq .object.kind "ServiceMonitor" -}}
{{- with $values.serviceMonitor.interval }}{{ $_ := set (first $object.spec.endpoints) "interval" . }}{{ end -}}
{{- $_ := set $object.metadata "labels" (merge (dict) $object.metadata.labels $values.serviceMonitor.labels) -}}
{{- else if eq .object.kind "PrometheusRule" -}}
{{- $_ := set $object.metadata "labels" (merge (dict) $object.metadata.labels $values.alerts.labels) -}}
{{- else if eq $name "ConfigMap/halflife-dashboards" -}}
{{- include "halflife.setDashboards" (dict "metadata" $object.metadata "values" $values.grafana.dashboards) -}}
{{- else if and (eq .object.kind "CustomResourceDefinition") $values.crds.keep -}}
{{- $_ := set $object.metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") (default dict $object.metadata.annotations)) -}}
{{- end -}}
{{- end -}}

{{/* Refuses an upgrade without CRDs where the release has them and does not keep them: Helm would delete them. root */}}
{{- define "halflife.checkCRDs" -}}
{{- if and .Release.IsUpgrade (not .Values.crds.install) -}}
{{- with (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "recommendations.halflife.dev").metadata -}}
{{- $annotations := default dict .annotations -}}
{{- if and (eq $.Release.Name (get $annotations "meta.helm.sh/release-name"))
      (eq $.Release.Namespace (get $annotations "meta.helm.sh/release-namespace"))
      (ne "keep" (get $annotations "helm.sh/resource-policy")) -}}
{{- fail "crds.install=false, but this release has the CRDs and does not keep them: Helm would delete them, and with them every Profile and Recommendation. Upgrade with crds.keep=true first." -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* All objects that values ask for. state */}}
{{- define "halflife.addAll" -}}
{{- include "halflife.checkCRDs" .root -}}
{{- $values := .root.Values -}}
{{- $component := "files/manifests/components/%s" -}}
{{- if $values.crds.install -}}
{{- range (fromYaml (.root.Files.Get "files/crds/Kustomization")).resources -}}
{{- include "halflife.addFile" (dict "state" $ "path" (printf "files/crds/%s" .)) -}}
{{- end -}}
{{- end -}}
{{- include "halflife.addKinds" . -}}
{{- include "halflife.addFolder" (dict "state" . "folder" "files/manifests/base") -}}
{{- range $folder, $enabled := dict
      "admission" $values.admission.enabled
      "custom-metrics" $values.customMetrics.enabled
      "grafana" $values.grafana.dashboards.enabled
      "in-place" $values.inPlace.enabled
      "load-watcher" $values.loadWatcher.enabled
      "monitoring" (or $values.serviceMonitor.enabled $values.alerts.enabled)
      "retune" $values.retune.enabled -}}
{{- if $enabled -}}
{{- include "halflife.addFolder" (dict "state" $ "folder" (printf $component $folder)) -}}
{{- end -}}
{{- end -}}
{{- if $values.readOnly.enabled }}{{ include "halflife.addFolder" (dict "state" . "folder" (printf $component "read-only")) }}{{ end -}}
{{- if $values.anyUser.enabled }}{{ include "halflife.addFolder" (dict "state" . "folder" (printf $component "any-user")) }}{{ end -}}
{{- include "halflife.setNamespace" . -}}
{{- $objects := list -}}
{{- range .objects -}}
{{- if not (include "halflife.isOmitted" (dict "root" $.root "object" .)) -}}
{{- include "halflife.setObject" (dict "root" $.root "object" .) -}}
{{- $objects = append $objects . -}}
{{- end -}}
{{- end -}}
{{- $_ := set . "objects" $objects -}}
{{- include "halflife.addMetadata" (dict "state" . "member" "labels" "pairs" $values.commonLabels) -}}
{{- include "halflife.addMetadata" (dict "state" . "member" "annotations" "pairs" $values.commonAnnotations) -}}
{{- end -}}
