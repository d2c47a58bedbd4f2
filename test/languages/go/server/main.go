// The feature server with the official Go SDK: server --stdio | --http | --stateless | --sse.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type (
	none struct{}
	pair struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	sum struct {
		Result int `json:"result"`
	}
	counted struct {
		To int `json:"to"`
	}
	message struct {
		Level string `json:"level"`
		Data  string `json:"data"`
	}
	named struct {
		Name string `json:"name"`
	}
	touched struct {
		URI string `json:"uri"`
	}
	prompted struct {
		Prompt string `json:"prompt"`
	}
)

var cancelled atomic.Int64

func text(value string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: value}}}
}

// question asks the client with the result. In a session, the SDK sends a request and calls the handler again.
func question(request *mcp.CallToolRequest, ask mcp.InputRequest) (*mcp.CallToolResult, any, error) {
	answer, answered := request.Params.InputResponses["question"]
	if !answered {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"question": ask}}, nil, nil
	}
	said, err := json.Marshal(answer)
	return text(string(said)), nil, err
}

func progress(ctx context.Context, request *mcp.CallToolRequest, step, total float64) {
	params := &mcp.ProgressNotificationParams{ProgressToken: request.Params.GetProgressToken(), Progress: step, Total: total}
	if err := request.Session.NotifyProgress(ctx, params); err != nil {
		log.Print(err)
	}
}

func addTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "count"}, func(ctx context.Context, request *mcp.CallToolRequest, in counted) (*mcp.CallToolResult, any, error) {
		for step := 1; step <= in.To; step++ {
			progress(ctx, request, float64(step), float64(in.To))
			time.Sleep(20 * time.Millisecond)
		}
		return text(fmt.Sprintf("counted to %d", in.To)), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		progress(ctx, request, 1, 0)
		<-ctx.Done()
		cancelled.Add(1)
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(server, &mcp.Tool{Name: "cancellations"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return text(fmt.Sprint(cancelled.Load())), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "log"}, func(ctx context.Context, request *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
		err := request.Session.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(in.Level), Data: in.Data})
		return text("logged"), nil, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "grow"}, func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(server, &mcp.Tool{Name: in.Name}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return text(in.Name), nil, nil
		})
		return text("grown"), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "touch"}, func(ctx context.Context, _ *mcp.CallToolRequest, in touched) (*mcp.CallToolResult, any, error) {
		err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: in.URI})
		return text("touched"), nil, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "sample"}, func(_ context.Context, request *mcp.CallToolRequest, in prompted) (*mcp.CallToolResult, any, error) {
		messages := []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}}
		return question(request, &mcp.CreateMessageParams{Messages: messages, MaxTokens: 100})
	})
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(_ context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		schema := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
		return question(request, &mcp.ElicitParams{Mode: "form", Message: "Who are you?", RequestedSchema: schema})
	})
	mcp.AddTool(server, &mcp.Tool{Name: "visit"}, func(_ context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		visit := &mcp.ElicitParams{Mode: "url", Message: "Please sign in", URL: "https://example.com/sign-in", ElicitationID: "sign-in-1"}
		return question(request, visit)
	})
	mcp.AddTool(server, &mcp.Tool{Name: "roots"}, func(_ context.Context, request *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		return question(request, &mcp.ListRootsParams{})
	})
}

func addContent(server *mcp.Server) {
	read := func(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := request.Params.URI
		contents := &mcp.ResourceContents{URI: uri}
		switch {
		case uri == "feature://bytes":
			contents.Blob = []byte{0, 1, 2}
		case strings.HasPrefix(uri, "feature://item/"):
			contents.Text = "Item " + strings.TrimPrefix(uri, "feature://item/")
		default:
			contents.Text = "A text."
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
	}
	server.AddResource(&mcp.Resource{URI: "feature://fixed", Name: "fixed"}, read)
	server.AddResource(&mcp.Resource{URI: "feature://bytes", Name: "bytes"}, read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "feature://item/{id}", Name: "item"}, read)
	greet := &mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}}
	server.AddPrompt(greet, func(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		said := &mcp.TextContent{Text: "Greet " + request.Params.Arguments["name"] + "."}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: said}}}, nil
	})
}

func complete(_ context.Context, request *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{"Ada", "Alan"}
	if request.Params.Ref.Type == "ref/resource" {
		values = []string{"1", "12", "2"}
	}
	found := slices.DeleteFunc(values, func(value string) bool { return !strings.HasPrefix(value, request.Params.Argument.Value) })
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: found, Total: len(found)}}, nil
}

func create() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions:       "Call a tool to see its feature.",
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTools(server)
	addContent(server)
	return server
}

func main() {
	server := create()
	get := func(*http.Request) *mcp.Server { return server }
	path := "/mcp"
	var handler http.Handler
	switch os.Args[1] {
	case "--stdio":
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Print(err)
		}
		return
	case "--sse":
		path = "/sse"
		handler = mcp.NewSSEHandler(get, nil)
	default:
		handler = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: os.Args[1] == "--stateless"})
	}
	// A port that the system picks.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s%s\n", listener.Addr(), path)
	log.Fatal(http.Serve(listener, handler))
}
