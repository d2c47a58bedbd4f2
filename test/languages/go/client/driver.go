package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A message of the test or to the test: JSON-RPC over stdin and stdout, in both directions. See driver.ts.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      *int            `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

type failure struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// A driver lets a test drive a client.
type driver struct {
	mu      sync.Mutex
	asked   map[int]chan json.RawMessage
	running map[int]context.CancelFunc
	ids     int
}

func newDriver() *driver {
	return &driver{asked: map[int]chan json.RawMessage{}, running: map[int]context.CancelFunc{}}
}

func encode(value any) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return encoded
}

func (d *driver) send(m message) {
	m.JSONRPC = "2.0"
	d.mu.Lock()
	defer d.mu.Unlock()
	os.Stdout.Write(append(encode(m), '\n'))
}

// report sends a notification to the test.
func (d *driver) report(method string, params any) {
	d.send(message{Method: method, Params: encode(params)})
}

// ask returns what the test answers to a question of the server.
func (d *driver) ask(method string, params, answer any) error {
	d.mu.Lock()
	d.ids++
	id := d.ids
	channel := make(chan json.RawMessage, 1)
	d.asked[id] = channel
	d.mu.Unlock()
	d.send(message{ID: &id, Method: method, Params: encode(params)})
	return json.Unmarshal(<-channel, answer)
}

func failureOf(err error) *failure {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return &failure{Code: wire.Code, Message: wire.Message, Data: wire.Data}
	}
	return &failure{Message: err.Error()}
}

func (d *driver) start(m message, handle func(context.Context, string, json.RawMessage, int) (any, error)) {
	id := *m.ID
	ctx, cancel := context.WithCancel(context.Background())
	d.mu.Lock()
	d.running[id] = cancel
	d.mu.Unlock()
	go func() {
		result, err := handle(ctx, m.Method, m.Params, id)
		cancel()
		d.mu.Lock()
		delete(d.running, id)
		d.mu.Unlock()
		if err != nil {
			d.send(message{ID: &id, Error: failureOf(err)})
		} else if result == nil {
			d.send(message{ID: &id, Result: json.RawMessage("{}")})
		} else {
			d.send(message{ID: &id, Result: encode(result)})
		}
	}()
}

// run handles requests until stdin ends.
func (d *driver) run(handle func(context.Context, string, json.RawMessage, int) (any, error)) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		switch {
		case m.Method == "":
			d.mu.Lock()
			channel := d.asked[*m.ID]
			delete(d.asked, *m.ID)
			d.mu.Unlock()
			channel <- m.Result
		case m.ID == nil:
			var cancelled struct{ ID int }
			_ = json.Unmarshal(m.Params, &cancelled)
			d.mu.Lock()
			cancel := d.running[cancelled.ID]
			d.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		default:
			d.start(m, handle)
		}
	}
}
