package main

import (
	"bytes"
	"os"
	"parley/internal/require"
	"testing"
)

func TestMethodsAreCurrent(t *testing.T) {
	want := require.Value(generate())(t)
	got := require.Value(os.ReadFile("../interceptor_methods.go"))(t)
	if !bytes.Equal(got, want) {
		t.Error("interceptor_methods.go is not what storage.Store needs; run: go generate ./core/storage/storagetest")
	}
}
