package main

import (
	"bytes"
	"os"
	"parley/internal/require"
	"testing"
)

func TestMethodsAreCurrent(t *testing.T) {
	want, err := generate()
	require.NoError(t, err)
	got, err := os.ReadFile("../interceptor_methods.go")
	require.NoError(t, err)
	if !bytes.Equal(got, want) {
		t.Error("interceptor_methods.go is not what storage.Store needs; run: go generate ./core/storage/storagetest")
	}
}
