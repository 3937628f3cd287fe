// Command fakecri serves a container runtime that runs nothing, on a unix socket.
//
// It lets an unmodified kubelet bring Pods to Running without containers. As nothing runs, a Pod's localhost is the given
// address: a port that is forwarded to the Pod is that port there.
// It must not do more than start the published fake and the published streaming server, and stop them on a signal.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"google.golang.org/grpc"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"
	"k8s.io/cri-client/pkg/util"
	"k8s.io/kubelet/pkg/cri/streaming"
)

// forwarder is a runtime that forwards ports, which is all that it streams.
type forwarder struct {
	streaming.Runtime
	address string
}

// PortForward carries bytes both ways until one side has no more.
func (f forwarder) PortForward(ctx context.Context, _ string, port int32, stream io.ReadWriteCloser) error {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(f.address, strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer connection.Close()
	done := make(chan error, 2)
	carry := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		done <- err
	}
	go carry(connection, stream)
	go carry(stream, connection)
	return <-done
}

// runtime is the published fake, with ports that lead somewhere.
type runtime struct {
	*fake.RemoteRuntime
	streams streaming.Server
}

func (r runtime) PortForward(_ context.Context, request *api.PortForwardRequest) (*api.PortForwardResponse, error) {
	return r.streams.GetPortForward(request)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fakecri SOCKET ADDRESS")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "fakecri:", err)
		os.Exit(1)
	}
}

func serve(socket, address string) error {
	config := streaming.DefaultConfig
	config.Addr = net.JoinHostPort(address, "0")
	streams, err := streaming.NewServer(config, forwarder{address: address})
	if err != nil {
		return err
	}
	listener, err := util.CreateListener("unix://" + socket)
	if err != nil {
		return err
	}
	fakes := fake.NewFakeRemoteRuntime()
	fakes.RuntimeService.FakeStatus = &api.RuntimeStatus{Conditions: []*api.RuntimeCondition{
		{Type: api.RuntimeReady, Status: true},
		{Type: api.NetworkReady, Status: true},
	}}
	both := runtime{fakes, streams}
	server := grpc.NewServer()
	api.RegisterRuntimeServiceServer(server, both)
	api.RegisterImageServiceServer(server, both)
	ended := make(chan error, 2)
	go func() { ended <- streams.Start(true) }()
	go func() { ended <- server.Serve(listener) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	select {
	case err := <-ended:
		return err
	case <-stop:
		server.Stop()
		return streams.Stop()
	}
}
