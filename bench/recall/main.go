// Command recall measures how many of 100 questions about 200 facts a search finds among its first five results: by words, by the
// meaning that an embedding model sees, and by both. `make recall EMBEDDING=<model>` runs it with the server of OPENAI_BASE_URL and
// OPENAI_API_KEY.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"parley/core/llm"
	"parley/internal/search"
	"parley/internal/search/searchtest"
	"parley/models/openai"
)

const (
	first = 5  // results that count
	found = 15 // results of each kind of search that are merged, as in core/recall
)

func main() {
	model := flag.String("model", "", "the embedding model")
	flag.Parse()
	server := openai.New(openai.Options{BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"), Model: *model})
	defer server.Close() //nolint:errcheck // the program ends
	if *model == "" {
		fmt.Fprintln(os.Stderr, "name an embedding model: make recall EMBEDDING=text-embedding-3-small")
		os.Exit(2)
	}
	if err := measure(context.Background(), server, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "measure the recall of", *model+":", err)
		os.Exit(1)
	}
}

// measure prints a table of hits.
func measure(ctx context.Context, e llm.Embedder, out io.Writer) error {
	all, questions := slices.Concat(searchtest.Facts(), searchtest.SmallTalk()), searchtest.Questions()
	var texts []search.Text
	for i, t := range all {
		texts = append(texts, search.Text{ID: int64(i), Words: search.Words(t)})
	}
	began := time.Now()
	vectors, err := e.Embed(ctx, all)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d texts embedded in %v, %d dimensions; recall@%d of %d questions:\n", len(all), time.Since(began).Round(time.Millisecond), len(vectors[0]), first, len(questions))
	for _, kind := range []string{"the same words", "other words"} {
		if err != nil {
			return err
		}
		var asked []string
		for _, q := range questions {
			asked = append(asked, map[string]string{"the same words": q.Text, "other words": q.Other}[kind])
		}
		points, failed := e.Embed(ctx, asked)
		if failed != nil {
			return failed
		}
		var byWords, byMeaning, both int
		for i, q := range questions {
			words, meaning := ranked(texts, asked[i]), nearest(vectors, points[i])
			byWords += hit(words, q.Fact)
			byMeaning += hit(meaning, q.Fact)
			both += hit(search.Fuse(words, meaning), q.Fact)
		}
		_, err = fmt.Fprintf(out, "%-15s words %3d   meaning %3d   both %3d\n", kind, byWords, byMeaning, both)
	}
	return err
}

func ranked(texts []search.Text, question string) (ids []int64) {
	for _, s := range search.Rank(texts, search.Question(question)) {
		ids = append(ids, s.ID)
	}
	return ids[:min(len(ids), found)]
}

func nearest(vectors [][]float32, point []float32) []int64 {
	near := search.Nearest{Unit: search.Unit(point), Limit: found}
	for i, v := range vectors {
		near.Add(int64(i), search.Pack(v))
	}
	return near.IDs()
}

func hit(ids []int64, fact int) int {
	if slices.Contains(ids[:min(len(ids), first)], int64(fact)) {
		return 1
	}
	return 0
}
