// Command kubernetes checks manifests: each object is decoded into the type that Kubernetes has for it, and a field that the
// type does not have is an error. It prints the objects as JSON, one a line, for further tests.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// kinds returns the types of the objects that are known here.
func kinds() map[string]any {
	return map[string]any{
		"v1/ConfigMap": &core.ConfigMap{}, "v1/Service": &core.Service{}, "apps/v1/Deployment": &apps.Deployment{},
		"policy/v1/PodDisruptionBudget": &policy.PodDisruptionBudget{},
	}
}

func main() {
	for _, name := range os.Args[1:] {
		if err := check(name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// check decodes all objects of a file.
func check(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for _, part := range bytes.Split(data, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(part, &head); err != nil {
			return err
		}
		object := kinds()[head.APIVersion+"/"+head.Kind]
		if object == nil {
			return fmt.Errorf("the kind %q of %q is not known", head.Kind, head.APIVersion)
		}
		if err := yaml.UnmarshalStrict(part, object); err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(object); err != nil {
			return err
		}
	}
	return nil
}
