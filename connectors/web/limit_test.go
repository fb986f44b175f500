package web

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"parley/core"
)

// SE-11: bodies with pictures are read a few at a time, and of one address fewer; texts always are.
func TestUploadsAreBounded(t *testing.T) {
	const stream = "/api/conversations/c/messages/stream"
	accept := func(core.Inbound) (core.Accepted, error) { return core.Accepted{}, nil }
	serve(t, nil, accept, func(client *http.Client, _ *core.Answer) {
		var slow sync.WaitGroup
		var ends []*io.PipeWriter
		for range maxLargeEach {
			body, end := io.Pipe()
			ends = append(ends, end)
			slow.Go(func() {
				resp, err := client.Post("http://127.0.0.1:8080"+stream, "application/json", body)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("a slow one is answered %d", resp.StatusCode)
				}
			})
		}
		synctest.Wait()
		large := `{"text":"` + strings.Repeat("x", smallBody) + `"}`
		if resp, body := post(t, client, stream, large); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "5" {
			t.Errorf("one more is answered %d %s", resp.StatusCode, body)
		}
		if resp, body := post(t, client, stream, `{"text":"a"}`); resp.StatusCode != http.StatusOK {
			t.Errorf("a text is answered %d %s", resp.StatusCode, body)
		}
		for _, end := range ends {
			_, _ = io.WriteString(end, `{"text":"a"}`)
			_ = end.Close()
		}
		slow.Wait()
		if resp, body := post(t, client, stream, large); resp.StatusCode != http.StatusRequestEntityTooLarge { // of a text, not of too many
			t.Errorf("later it is answered %d %s", resp.StatusCode, body)
		}
	})
}

func TestUploadsOfAll(t *testing.T) {
	var u uploads
	var leaves []func()
	for i := range maxLarge + 1 {
		leave, ok := u.enter(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32))
		if ok != (i < maxLarge) {
			t.Fatalf("upload %d: %v", i, ok)
		}
		leaves = append(leaves, leave)
	}
	for _, leave := range leaves[:maxLarge] {
		leave()
	}
	if u.all != 0 || len(u.by) != 0 {
		t.Errorf("it remembers %d, %v", u.all, u.by)
	}
}
