package healthgate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

const healthCheck = "/grpc.health.v1.Health/Check"

// grpcProbe asks grpc.health.v1.Health/Check for a service, over a connection of its own.
// What it needs of gRPC over HTTP/2 is small enough to be written here.
type grpcProbe struct {
	service string
	tls     *tls.Config // nil: cleartext HTTP/2 with prior knowledge
	dial    DialFunc
}

func (c ProbeConfig) newGRPC() *grpcProbe {
	p := &grpcProbe{service: c.Service, dial: c.Dial}
	if c.TLS {
		p.tls = tlsConfig("", "h2")
	}
	return p
}

func (p *grpcProbe) Probe(ctx context.Context, addr string) error {
	conn, err := dial(ctx, p.dial, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	transport := p.transport(conn)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(p.request(ctx, addr))
	if err != nil {
		return unanswered(ctx, err)
	}
	defer resp.Body.Close()
	return p.judge(ctx, resp)
}

// transport speaks over conn alone: a second dial would be a second connection.
func (p *grpcProbe) transport(conn net.Conn) *http.Transport {
	once := make(chan net.Conn, 1)
	once <- conn
	t := &http.Transport{
		Protocols: new(http.Protocols), TLSClientConfig: p.tls, DisableCompression: true,
		MaxResponseHeaderBytes: answerLimit,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-once:
				return c, nil
			default:
				return nil, errors.New("the connection was lost")
			}
		},
	}
	t.Protocols.SetHTTP2(p.tls != nil)
	t.Protocols.SetUnencryptedHTTP2(p.tls == nil)
	return t
}

func (p *grpcProbe) request(ctx context.Context, addr string) *http.Request {
	scheme := "http"
	if p.tls != nil {
		scheme = "https"
	}
	frame := healthRequest(p.service)
	req := &http.Request{
		Method: http.MethodPost,
		URL:    &url.URL{Scheme: scheme, Host: addr, Path: healthCheck},
		Host:   addr,
		Header: http.Header{
			"Content-Type": {"application/grpc"},
			"Te":           {"trailers"},
			"User-Agent":   {probeIdentity},
		},
		Body:          io.NopCloser(bytes.NewReader(frame)),
		ContentLength: int64(len(frame)),
	}
	return req.WithContext(ctx)
}

// judge reads the frame and the status, which comes as a trailer, or among the headers when
// there is no frame ("Trailers-Only" in the gRPC over HTTP/2 protocol).
func (p *grpcProbe) judge(ctx context.Context, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return rejected("answered HTTP status %d, not gRPC", resp.StatusCode)
	}
	frame, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit))
	if err != nil {
		return unanswered(ctx, err)
	}
	code, message := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
	if code == "" {
		code, message = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
	}
	if code != "0" {
		return rejected("answered gRPC status %q %s", code, message)
	}
	status, err := parseHealthAnswer(frame)
	if err != nil {
		return rejected("answered no health message: %w", err)
	}
	if status != serving {
		return rejected("service %q is %s", p.service, status)
	}
	return nil
}

// servingStatus is grpc.health.v1.HealthCheckResponse.ServingStatus.
type servingStatus uint64

const serving servingStatus = 1

func (s servingStatus) String() string {
	names := [...]string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
	if s < servingStatus(len(names)) {
		return names[s]
	}
	return fmt.Sprintf("in state %d", uint64(s))
}
