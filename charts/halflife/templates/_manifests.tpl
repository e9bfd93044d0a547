{{/*
What kustomize does with the folders of manifests/, as far as they need it. A state is a dict of root (the chart's scope)
and objects (a list); the templates below print nothing and change the state.
*/}}

{{/* Adds the objects of a file. state, path */}}
{{- define "halflife.addFile" -}}
{{- range $text := regexSplit "(?m)^---[ \t]*$" (.state.root.Files.Get .path) -1 -}}
{{- $object := fromYaml $text -}}
{{- with $object.Error }}{{ fail (printf "%s: %s" $.path .) }}{{ end -}}
{{- if $object.kind -}}
{{- $_ := set $.state "objects" (append $.state.objects $object) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Adds a ConfigMap of files. state, folder, generator */}}
{{- define "halflife.addConfigMap" -}}
{{- $data := dict -}}
{{- range .generator.files -}}
{{- $_ := set $data . ($.state.root.Files.Get (printf "%s/%s" $.folder .)) -}}
{{- end -}}
{{- $metadata := merge (pick .generator "name" "namespace") (pick .generator.options "labels" "annotations") -}}
{{- $object := dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" $data -}}
{{- $_ := set .state "objects" (append .state.objects $object) -}}
{{- end -}}

{{/*
Adds the resources of a folder and the ConfigMaps that it makes, carries out its patches, and labels everything with its
labels. state, folder
*/}}
{{- define "halflife.addFolder" -}}
{{- $kustomization := fromYaml (.state.root.Files.Get (printf "%s/kustomization.yaml" .folder)) -}}
{{- range $kustomization.resources -}}
{{- if ne . "../../crds" -}}
{{- include "halflife.addFile" (dict "state" $.state "path" (printf "%s/%s" $.folder .)) -}}
{{- end -}}
{{- end -}}
{{- range $kustomization.configMapGenerator -}}
{{- include "halflife.addConfigMap" (dict "state" $.state "folder" $.folder "generator" .) -}}
{{- end -}}
{{- range $patch := $kustomization.patches -}}
{{- range $object := $.state.objects -}}
{{- if and (eq .kind $patch.target.kind) (regexMatch (printf "^(%s)$" $patch.target.name) .metadata.name) -}}
{{- range $operation := fromYamlArray $patch.patch -}}
{{- include "halflife.patch" (dict "object" $object "operation" $operation) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $kustomization.labels -}}
{{- include "halflife.addMetadata" (dict "state" $.state "member" "labels" "pairs" .pairs) -}}
{{- end -}}
{{- end -}}

{{/* One operation of a JSON patch: add or replace. object, operation */}}
{{- define "halflife.patch" -}}
{{- $tokens := splitList "/" (trimPrefix "/" .operation.path) -}}
{{- $above := dict -}}
{{- $name := "" -}}
{{- $at := .object -}}
{{- range $token := initial $tokens -}}
{{- $above = $at -}}
{{- $name = $token -}}
{{- if kindIs "slice" $at }}{{ $at = index $at (int $token) }}{{ else }}{{ $at = get $at $token }}{{ end -}}
{{- end -}}
{{- if not (has .operation.op (list "add" "replace")) }}{{ fail (printf "patch operation '%s'" .operation.op) }}{{ end -}}
{{- if eq (last $tokens) "-" -}}
{{- $_ := set $above $name (append $at .operation.value) -}}
{{- else -}}
{{- $_ := set $at (last $tokens) .operation.value -}}
{{- end -}}
{{- end -}}

{{/* Adds labels or annotations to all objects; an object's own stay. state, member, pairs */}}
{{- define "halflife.addMetadata" -}}
{{- if .pairs -}}
{{- range .state.objects -}}
{{- $_ := set .metadata $.member (merge (dict) (default dict (get .metadata $.member)) $.pairs) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Puts what has a namespace into the one of values, and has whatever names halflife's own name that. state */}}
{{- define "halflife.setNamespace" -}}
{{- $ns := include "halflife.namespace" .root -}}
{{- $clusterWide := list "Namespace" "CustomResourceDefinition" "ClusterRole" "ClusterRoleBinding" "MutatingWebhookConfiguration" "ValidatingAdmissionPolicy" "ValidatingAdmissionPolicyBinding" "APIService" -}}
{{- $objects := list -}}
{{- range .objects -}}
{{- $object := toJson . | replace "\"namespace\":\"halflife\"" (printf "\"namespace\":%q" $ns) | fromJson -}}
{{- if eq .kind "Namespace" -}}
{{- $_ := set $object.metadata "name" $ns -}}
{{- else if not (or (has .kind $clusterWide) (hasKey .metadata "namespace")) -}}
{{- $_ := set $object.metadata "namespace" $ns -}}
{{- end -}}
{{- $objects = append $objects $object -}}
{{- end -}}
{{- $_ := set . "objects" $objects -}}
{{- end -}}
