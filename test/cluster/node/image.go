package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// The images of a node. Their names have a host, or the kubelet would put one of its own before them.
const (
	Burn  = "halflife.test/burn:1"
	Pause = "halflife.test/pause:1"
)

// BurnImages writes an archive of both (OCI layout), from the static program that lies at that path: one layer, and an
// entry point for each name.
func BurnImages(archive, program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	layer, err := archiveOf(map[string][]byte{
		"burn":       text,
		"etc/passwd": []byte("root:x:0:0:root:/:/none\nhalflife:x:65532:65532:halflife:/:/none\n"),
	})
	if err != nil {
		return err
	}
	a := &layout{files: map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}}
	layerBlob := a.blob("application/vnd.oci.image.layer.v1.tar", layer)
	platform := object{"architecture": runtime.GOARCH, "os": "linux"}
	var manifests []object
	for name, entry := range map[string][]string{Burn: {"/burn"}, Pause: {"/burn", "pause"}} {
		config := a.blobOf("application/vnd.oci.image.config.v1+json", object{"architecture": runtime.GOARCH, "os": "linux",
			"config": object{"Entrypoint": entry, "Env": []string{"PATH=/"}},
			"rootfs": object{"type": "layers", "diff_ids": []any{layerBlob["digest"]}}})
		manifest := a.blobOf("application/vnd.oci.image.manifest.v1+json", object{"schemaVersion": 2,
			"mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []object{layerBlob}})
		_, tag, _ := strings.Cut(name, ":")
		manifest["platform"] = platform
		manifest["annotations"] = object{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
		manifests = append(manifests, manifest)
	}
	index, err := json.Marshal(object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": manifests})
	if err != nil {
		return err
	}
	a.files["index.json"] = index
	data, err := archiveOf(a.files)
	if err != nil {
		return err
	}
	return os.WriteFile(archive, data, 0o644)
}

type object = map[string]any

type layout struct{ files map[string][]byte }

// blob keeps some bytes under their digest and gives their descriptor.
func (a *layout) blob(kind string, data []byte) object {
	hash := sha256.Sum256(data)
	digest := hex.EncodeToString(hash[:])
	a.files["blobs/sha256/"+digest] = data
	return object{"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}
}

func (a *layout) blobOf(kind string, o object) object {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // of strings and numbers alone
	}
	return a.blob(kind, data)
}

// archiveOf packs files, as programs, by their paths.
func archiveOf(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for path, data := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o755, Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
	}
	return out.Bytes(), w.Close()
}
