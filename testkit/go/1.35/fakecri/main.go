// Command fakecri serves a container runtime that runs nothing, on a unix socket.
//
// It lets an unmodified kubelet bring Pods to Running without containers.
// It must not do more than start the published fake and stop it on a signal.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cri-client/pkg/fake"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fakecri SOCKET")
		os.Exit(2)
	}
	runtime := fake.NewFakeRemoteRuntime()
	if err := runtime.Start("unix://" + os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "fakecri:", err)
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	runtime.Stop()
}
