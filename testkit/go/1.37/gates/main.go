// Command gates prints every feature gate that the components of this minor register, one JSON object a line, by name.
//
// It must not interpret: versions, stages and dependencies are printed as they were registered. It links all components
// into one process, so it lists what any of them lists; AllAlpha and AllBeta, which set other gates, are left out.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	_ "k8s.io/kubernetes/cmd/kube-apiserver/app"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "k8s.io/kubernetes/cmd/kubelet/app"
)

type spec struct {
	Since            string `json:"since"`
	Default          bool   `json:"default"`
	Stage            string `json:"stage"`
	Locked           bool   `json:"locked,omitempty"`
	MinCompatibility string `json:"minCompatibilityVersion,omitempty"`
}

type gate struct {
	Name      string                `json:"name"`
	Versions  []spec                `json:"versions"`
	DependsOn []featuregate.Feature `json:"dependsOn,omitempty"`
}

func main() {
	known := feature.DefaultMutableFeatureGate
	versioned, dependencies := known.GetAllVersioned(), known.Dependencies()
	out := json.NewEncoder(os.Stdout)
	for _, name := range slices.Sorted(maps.Keys(versioned)) {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		line := gate{Name: string(name), DependsOn: slices.Sorted(slices.Values(dependencies[name]))}
		for _, registered := range versioned[name] {
			printed := spec{
				Since:   registered.Version.String(),
				Default: registered.Default,
				Stage:   string(registered.PreRelease),
				Locked:  registered.LockToDefault,
			}
			// A general gate has the empty word.
			if printed.Stage == "" {
				printed.Stage = "GA"
			}
			if registered.MinCompatibilityVersion != nil {
				printed.MinCompatibility = registered.MinCompatibilityVersion.String()
			}
			line.Versions = append(line.Versions, printed)
		}
		if err := out.Encode(line); err != nil {
			fmt.Fprintln(os.Stderr, "gates:", err)
			os.Exit(1)
		}
	}
}
