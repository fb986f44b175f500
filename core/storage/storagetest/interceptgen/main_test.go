package main

import (
	"bytes"
	"os"
	"testing"
)

func TestMethodsAreCurrent(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../interceptor_methods.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("interceptor_methods.go is not what storage.Store needs; run: go generate ./core/storage/storagetest")
	}
}
