// A client of the official Go SDK that a test drives.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK does not wait until the server has agreed to a subscription. This does.
type agreements struct {
	mu     sync.Mutex
	agreed map[string]chan struct{}
}

func (a *agreements) of(what string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.agreed[what] == nil {
		a.agreed[what] = make(chan struct{}, 1)
	}
	return a.agreed[what]
}

func (a *agreements) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if params, ok := request.GetParams().(*mcp.SubscriptionsAcknowledgedParams); ok {
			for _, uri := range params.Notifications.ResourceSubscriptions {
				a.of(uri) <- struct{}{}
			}
			if params.Notifications.ToolsListChanged {
				a.of("lists") <- struct{}{}
			}
		}
		return next(ctx, method, request)
	}
}

type client struct {
	driver  *driver
	agreed  *agreements
	client  *mcp.Client
	session *mcp.ClientSession
	level   mcp.LoggingLevel
}

type place struct {
	Transport string
	Revision  string
	URL       string
	Command   []string
}

func (c *client) notice(method string, params any) {
	c.driver.report("notice", map[string]any{"method": method, "params": params})
}

func (c *client) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			answer := &mcp.CreateMessageResult{}
			return answer, c.driver.ask("sampling/createMessage", r.Params, answer)
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			answer := &mcp.ElicitResult{}
			return answer, c.driver.ask("elicitation/create", r.Params, answer)
		},
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{ListChanged: true},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ToolListChangedHandler: func(_ context.Context, r *mcp.ToolListChangedRequest) {
			c.notice("notifications/tools/list_changed", r.Params)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			c.notice("notifications/resources/updated", r.Params)
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			c.notice("notifications/message", r.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			var id int
			// The token is the number of the call. The SDK gives it as a float.
			if _, err := fmt.Sscan(fmt.Sprint(r.Params.ProgressToken), &id); err != nil {
				return
			}
			report := map[string]any{"id": id, "progress": r.Params.Progress}
			if r.Params.Total != 0 {
				report["total"] = r.Params.Total
			}
			c.driver.report("progress", report)
		},
	}
}

// setRoots replaces the roots, which the SDK keeps, by those of the test.
func (c *client) setRoots() error {
	var answer mcp.ListRootsResult
	if err := c.driver.ask("roots/list", map[string]any{}, &answer); err != nil {
		return err
	}
	c.client.RemoveRoots("file:///tmp/project", "file:///tmp/elsewhere")
	c.client.AddRoots(answer.Roots...)
	return nil
}

func (c *client) connect(ctx context.Context, p place) (any, error) {
	c.client = mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, c.options())
	c.client.AddReceivingMiddleware(c.agreed.middleware)
	if err := c.setRoots(); err != nil {
		return nil, err
	}
	if err := mcp.AddSendingCustomMethod[*anyParams, *anyResult](c.client, "everwire/unheard-of"); err != nil {
		return nil, err
	}
	var transport mcp.Transport
	switch p.Transport {
	case "stdio":
		transport = &mcp.CommandTransport{Command: exec.Command(p.Command[0], p.Command[1:]...)}
	case "sse":
		transport = &mcp.SSEClientTransport{Endpoint: p.URL}
	default:
		transport = &mcp.StreamableClientTransport{Endpoint: p.URL}
	}
	session, err := c.client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: p.Revision})
	if err != nil {
		return nil, err
	}
	c.session = session
	result := session.InitializeResult()
	return map[string]any{
		"revision":     result.ProtocolVersion,
		"serverInfo":   result.ServerInfo,
		"capabilities": result.Capabilities,
		"instructions": result.Instructions,
	}, nil
}

type (
	anyParams struct {
		mcp.ParamsBase
	}
	anyResult struct {
		mcp.ResultBase
	}
)

func decode[T any](params json.RawMessage) (*T, error) {
	decoded := new(T)
	return decoded, json.Unmarshal(params, decoded)
}

func with[P, R any](ctx context.Context, params json.RawMessage, call func(context.Context, *P) (R, error)) (any, error) {
	decoded, err := decode[P](params)
	if err != nil {
		return nil, err
	}
	return call(ctx, decoded)
}

func (c *client) callTool(ctx context.Context, params json.RawMessage, id int) (any, error) {
	call, err := decode[mcp.CallToolParams](params)
	if err != nil {
		return nil, err
	}
	call.SetProgressToken(id)
	if c.modern() && c.level != "" {
		call.Meta[mcp.MetaKeyLogLevel] = c.level
	}
	return c.session.CallTool(ctx, call)
}

func (c *client) modern() bool {
	return c.session.InitializeResult().ProtocolVersion >= "2026-07-28"
}

func (c *client) handle(ctx context.Context, method string, params json.RawMessage, id int) (any, error) {
	switch method {
	case "connect":
		p, err := decode[place](params)
		if err != nil {
			return nil, err
		}
		// The session outlives the request.
		return c.connect(context.WithoutCancel(ctx), *p)
	case "close":
		return nil, c.session.Close()
	case "tools/list":
		return with(ctx, params, c.session.ListTools)
	case "tools/call":
		return c.callTool(ctx, params, id)
	case "resources/list":
		return with(ctx, params, c.session.ListResources)
	case "resources/templates/list":
		return with(ctx, params, c.session.ListResourceTemplates)
	case "resources/read":
		return with(ctx, params, c.session.ReadResource)
	case "prompts/list":
		return with(ctx, params, c.session.ListPrompts)
	case "prompts/get":
		return with(ctx, params, c.session.GetPrompt)
	case "completion/complete":
		return with(ctx, params, c.session.Complete)
	case "alive":
		// 2026-07-28 has no ping, and the SDK gives no access to `server/discover`.
		if c.modern() {
			_, err := c.session.ListResourceTemplates(ctx, nil)
			return nil, err
		}
		return nil, c.session.Ping(ctx, nil)
	case "setLevel":
		level, err := decode[mcp.SetLoggingLevelParams](params)
		if err != nil {
			return nil, err
		}
		c.level = level.Level
		if c.modern() {
			return nil, nil
		}
		return nil, c.session.SetLoggingLevel(ctx, level)
	case "subscribe":
		return with(ctx, params, func(ctx context.Context, p *mcp.SubscribeParams) (any, error) {
			err := c.session.Subscribe(ctx, p)
			if err == nil && c.modern() {
				<-c.agreed.of(p.URI)
			}
			return nil, err
		})
	case "unsubscribe":
		return with(ctx, params, func(ctx context.Context, p *mcp.UnsubscribeParams) (any, error) {
			return nil, c.session.Unsubscribe(ctx, p)
		})
	case "followLists":
		// The SDK follows the lists for which there is a handler.
		if c.modern() {
			<-c.agreed.of("lists")
		}
		return nil, nil
	case "unfollowLists":
		return nil, nil
	case "rootsChanged":
		return nil, c.setRoots()
	case "request":
		return mcp.CallCustomMethod[*anyParams, *anyResult](ctx, c.session, "everwire/unheard-of", &anyParams{})
	}
	return nil, fmt.Errorf("the driver has no %s", method)
}

func main() {
	d := newDriver()
	d.run((&client{driver: d, agreed: &agreements{agreed: map[string]chan struct{}{}}}).handle)
}
