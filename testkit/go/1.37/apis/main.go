// Command apis prints every group and version that the API server of this minor registers, one JSON object a line, by name.
//
// It must not interpret: whether a version is served unless somebody says otherwise, and the minors that brought and take each
// resource, are printed as they were registered. Resources are guessed from kinds, as upstream's own clients guess.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/storage"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
)

type resource struct {
	Introduced string `json:"introduced,omitempty"`
	Removed    string `json:"removed,omitempty"`
}

type version struct {
	Version   string              `json:"version"`
	Served    bool                `json:"served,omitempty"`
	Resources map[string]resource `json:"resources"`
}

type introduced interface {
	APILifecycleIntroduced() (major, minor int)
}

type removed interface {
	APILifecycleRemoved() (major, minor int)
}

func resources(known *runtime.Scheme, of schema.GroupVersion) map[string]resource {
	found := map[string]resource{}
	for kind := range known.KnownTypes(of) {
		object, err := known.New(of.WithKind(kind))
		if err != nil {
			continue
		}
		// Lists and options are no resources.
		if _, ok := object.(metav1.ObjectMetaAccessor); !ok {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(of.WithKind(kind))
		var told resource
		if brought, ok := object.(introduced); ok {
			major, minor := brought.APILifecycleIntroduced()
			told.Introduced = fmt.Sprintf("%d.%d", major, minor)
		}
		if taken, ok := object.(removed); ok {
			major, minor := taken.APILifecycleRemoved()
			told.Removed = fmt.Sprintf("%d.%d", major, minor)
		}
		found[plural.Resource] = told
	}
	return found
}

func main() {
	var lines []version
	for _, server := range []struct {
		scheme  *runtime.Scheme
		configs *storage.ResourceConfig
	}{
		{legacyscheme.Scheme, controlplane.DefaultAPIResourceConfigSource()},
		{apiextensions.Scheme, apiextensions.DefaultAPIResourceConfigSource()},
		{scheme.Scheme, aggregator.DefaultAPIResourceConfigSource()},
	} {
		for _, of := range server.scheme.PrioritizedVersionsAllGroups() {
			known := resources(server.scheme, of)
			// Each server knows the core's version, for its options.
			if of.Group == "" && len(known) == 0 {
				continue
			}
			lines = append(lines, version{of.String(), server.configs.GroupVersionConfigs[of], known})
		}
	}
	slices.SortStableFunc(lines, func(one, other version) int { return strings.Compare(one.Version, other.Version) })
	out := json.NewEncoder(os.Stdout)
	for _, line := range lines {
		if err := out.Encode(line); err != nil {
			fmt.Fprintln(os.Stderr, "apis:", err)
			os.Exit(1)
		}
	}
}
