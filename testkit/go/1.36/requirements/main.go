// Command requirements asks upstream's library of declared features (KEP-5328) of this minor, a JSON object a line in and out.
//
// A question is a Pod (what it requires to be scheduled), two Pods (what the update requires), or a kubelet's settings (what it
// declares). It must not judge, and it must not repair what the library does with an odd Pod.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
)

type gates map[string]bool

func (g gates) Enabled(name string) bool { return g[name] }

type question struct {
	Pod *v1.Pod `json:"pod"`
	Old *v1.Pod `json:"old"`
	New *v1.Pod `json:"new"`

	Gates                     gates  `json:"gates"`
	CPUManagerPolicy          string `json:"cpuManagerPolicy"`
	UserNamespacesHostNetwork bool   `json:"userNamespacesHostNetwork"`
	MountOptions              bool   `json:"mountOptions"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	release, err := version.Parse(os.Args[1])
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			return fmt.Errorf("%s: %w", in.Text(), err)
		}
		names, err := answer(&asked, release)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Text(), err)
		}
		slices.Sort(names)
		if err := out.Encode(append([]string{}, names...)); err != nil {
			return err
		}
	}
	return in.Err()
}

func answer(asked *question, release *version.Version) ([]string, error) {
	switch {
	case asked.Pod != nil:
		return scheduling(&ndf.PodInfo{Spec: &asked.Pod.Spec}, release)
	case asked.Old != nil:
		return update(info(asked.Old), info(asked.New), release)
	default:
		return declared(asked, release), nil
	}
}

// As the admission plugin makes it.
func info(pod *v1.Pod) *ndf.PodInfo {
	return &ndf.PodInfo{Spec: &pod.Spec, Status: &pod.Status}
}

func scheduling(pod *ndf.PodInfo, release *version.Version) ([]string, error) {
	set, err := ndf.DefaultFramework.InferForPodScheduling(pod, release)
	if err != nil {
		return nil, err
	}
	return ndf.DefaultFramework.Unmap(set)
}

func update(old, updated *ndf.PodInfo, release *version.Version) ([]string, error) {
	set, err := ndf.DefaultFramework.InferForPodUpdate(old, updated, release)
	if err != nil {
		return nil, err
	}
	return ndf.DefaultFramework.Unmap(set)
}

func declared(asked *question, release *version.Version) []string {
	runtime := ndf.RuntimeFeatures{
		UserNamespacesHostNetwork: asked.UserNamespacesHostNetwork,
	}
	return ndf.DefaultFramework.DiscoverNodeFeatures(&ndf.NodeConfiguration{
		FeatureGates:    asked.Gates,
		Version:         release,
		RuntimeFeatures: runtime,
	})
}
