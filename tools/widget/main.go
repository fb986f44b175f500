// Command widget bundles the page's scripts. It runs in connectors/web/widget, after npm ci there:
//
//	go run -modfile=tools/go.mod ... (see go generate in connectors/web)
//
// With -tests it bundles the unit tests into that folder instead, for node --test.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	source := flag.String("source", ".", "the folder with src and node_modules")
	out := flag.String("out", "dist", "the folder for the bundle, which is emptied")
	tests := flag.String("tests", "", "bundle the unit tests into this folder instead")
	flag.Parse()
	b := bundler{source: *source}
	err := b.run(*out, *tests)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle the widget:", err)
		os.Exit(1)
	}
}

// bundler bundles the sources of one folder.
type bundler struct{ source string }

func (b bundler) run(out, tests string) error {
	if tests != "" {
		files, err := filepath.Glob(filepath.Join(b.source, "test", "*.test.*"))
		if err != nil {
			return err
		}
		o := b.options(files...)
		o.Platform, o.Outdir, o.Write, o.External, o.OutExtension = api.PlatformNode, tests, true, []string{"jsdom"}, map[string]string{".js": ".mjs"}
		o.MinifySyntax, o.MinifyIdentifiers, o.MinifyWhitespace = false, false, false
		_, err = build(o)
		return err
	}
	files, err := b.files()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, body := range files {
		if err := b.pack(filepath.Join(out, name), body); err != nil {
			return err
		}
	}
	return nil
}

// files returns the bundle, uncompressed: chat-….js with the chunks that it loads, which have the hash of their content in their name,
// and widget.js and login.js, whose addresses don't change.
func (b bundler) files() (map[string][]byte, error) {
	files, define := map[string][]byte{}, map[string]string{}
	for _, step := range [][]string{{"markdown/math.ts", "markdown/highlight.ts", "markdown/characters.ts"}, {"markdown/markdown.ts", "view/more.tsx"}, {"chat.tsx"}, {"widget.ts", "login.ts"}} {
		var entries []string
		for _, name := range step {
			entries = append(entries, filepath.Join(b.source, "src", name))
		}
		o := b.options(entries...)
		o.Define, o.EntryNames = define, "[name]-[hash]"
		if step[0] == "markdown/markdown.ts" {
			names, err := b.names()
			if err != nil {
				return nil, err
			}
			o.MangleProps = "^(?:" + names + ")$"
		}
		if step[0] == "chat.tsx" {
			o.MangleProps = "^_" // of Preact
		}
		if step[0] != "chat.tsx" && step[0] != "widget.ts" {
			b.share(&o)
		}
		if step[0] == "widget.ts" { // what pages name has the same address always
			o.Format, o.EntryNames = api.FormatIIFE, "[name]"
		}
		o.Plugins = append(o.Plugins, b.preact())
		built, err := build(o)
		if err != nil {
			return nil, err
		}
		for name, body := range built {
			files[name] = body
			base, _, _ := strings.Cut(name, "-")
			define[strings.ToUpper(base)] = strconv.Quote(name)
		}
	}
	var err error
	files["licenses.txt"], err = b.licenses()
	return files, err
}

// options are those of every build. Names that a build defines for later ones are the files that these load.
func (b bundler) options(entries ...string) api.BuildOptions {
	return api.BuildOptions{
		EntryPoints: entries, AbsWorkingDir: must(filepath.Abs(b.source)), Outdir: "out", Bundle: true, PreserveSymlinks: true, Format: api.FormatESModule, Target: api.ES2022,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone, Charset: api.CharsetUTF8,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", LogLevel: api.LogLevelWarning, Plugins: []api.Plugin{styles, b.lexer()},
	}
}

// shared are the modules of the chat that the files that it loads use too; see load.ts.
var shared = map[string]bool{"api": true, "conversation": true, "dom": true, "icons": true, "load": true, "strings": true, "view/parts": true, "view/stretch": true, "preact/hooks": true, "preact/jsx-runtime": true}

// share makes a build a function of the shared modules.
func (b bundler) share(o *api.BuildOptions) {
	o.Format, o.Banner, o.Footer = api.FormatCommonJS, map[string]string{"js": "export default (require)=>{const module={};"}, map[string]string{"js": "return module.exports}"}
	o.Plugins = append(o.Plugins, api.Plugin{Name: "share", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: `.`}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			name := args.Path
			if strings.HasPrefix(name, ".") {
				name = filepath.Join(args.ResolveDir, name)
				if within, err := filepath.Rel(filepath.Join(o.AbsWorkingDir, "src"), name); err == nil {
					name = filepath.ToSlash(within)
				}
			}
			if !shared[name] {
				return api.OnResolveResult{}, nil
			}
			return api.OnResolveResult{Path: name, External: true}, nil
		})
	}})
}

// styles makes a style sheet the default export of its module, as minified text.
var styles = api.Plugin{Name: "styles", Setup: func(b api.PluginBuild) {
	b.OnLoad(api.OnLoadOptions{Filter: `\.css$`}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		source, err := os.ReadFile(args.Path)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		r := api.Transform(string(source), api.TransformOptions{Loader: api.LoaderCSS, MinifyWhitespace: true, MinifySyntax: true, Sourcefile: args.Path, LogLevel: api.LogLevelWarning})
		text := strings.TrimSpace(string(r.Code))
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderText, Errors: r.Errors}, nil
	})
}}

// entry is what the page uses of marked.
const entry = "export { _Lexer as Lexer } from './Lexer.ts'; export { _Tokenizer as Tokenizer } from './Tokenizer.ts'"

// pedantic are the parts of marked that the page doesn't use: the grammar of a mode, patterns of the renderers, and addresses, which lex.ts finds.
var pedantic = regexp.MustCompile(`(?s)const (?:block|inline)Pedantic.*?\n};\n|  pedantic: \w+,\n|  escape(?:Test|Replace|TestNoEncode|ReplaceNoEncode): .*?,\n|  url\(src: string\).*?\n  }\n|  static (?:get rules|lex|lexInline)\(.*?\n  }\n`)

// internal are the names of the rules within marked, and of its state: nothing else uses names like these.
var internal = regexp.MustCompile(`(?m)^  ([a-z]+[A-Z]\w+|_backpedal):`)

const state = "inlineTokens|blockTokens|inlineQueue|linkEmitted|inRawBlock|linkParenPossible|lastToken|infiniteLoopError|emStrong|codespan|autolink|blockquote|reflink|lheading|" +
	"lastPossible(?:EmStrong|Del)CloserIndex|maskedSrc|punctuation|newline|reflinkSearch|getRegex"

// lexer bundles marked's lexer from the sources in its source map, as the package is one file, of which nothing can be left out: its
// renderers and its pedantic mode are a fifth.
func (b bundler) lexer() api.Plugin {
	return api.Plugin{Name: "lexer", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: `^marked$`}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: "entry", Namespace: "marked"}, nil
		})
		build.OnResolve(api.OnResolveOptions{Filter: `.`, Namespace: "marked"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: path.Base(args.Path), Namespace: "marked"}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: `.`, Namespace: "marked"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			text, err := entry, error(nil)
			if args.Path != "entry" {
				text, err = b.original(args.Path)
			}
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderTS}, err
		})
	}}
}

// names returns a pattern of the properties within marked that the bundle can shorten.
func (b bundler) names() (string, error) {
	rules, err := b.original("rules.ts")
	all := state
	for _, found := range internal.FindAllStringSubmatch(rules, -1) {
		all += "|" + found[1]
	}
	return all, err
}

// original returns a source of marked, prepared for leaving out what is not used.
func (b bundler) original(name string) (string, error) {
	body, err := os.ReadFile(filepath.Join(b.source, "node_modules", "marked", "lib", "marked.esm.js.map"))
	if err != nil {
		return "", err
	}
	var from struct{ Sources, SourcesContent []string }
	if err := json.Unmarshal(body, &from); err != nil {
		return "", err
	}
	for i, source := range from.Sources {
		if path.Base(source) == name {
			text := pedantic.ReplaceAllString(from.SourcesContent[i], "")
			return strings.NewReplacer("this.options.pedantic", "false", "= edit(", "= /* @__PURE__ */ edit(").Replace(text), nil
		}
	}
	return "", fmt.Errorf("marked has no source %s", name)
}

// licenses returns the licenses of the packages in the bundle.
func (b bundler) licenses() ([]byte, error) {
	var out bytes.Buffer
	for _, name := range []string{"preact", "marked", "highlight.js", "temml"} {
		text, err := os.ReadFile(filepath.Join(b.source, "node_modules", name, "LICENSE"))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s\n\n%s\n\n", name, bytes.TrimSpace(text))
	}
	return out.Bytes(), nil
}

// build returns the files of a build by their names.
func build(o api.BuildOptions) (map[string][]byte, error) {
	r := api.Build(o)
	if len(r.Errors) > 0 {
		return nil, fmt.Errorf("%d errors", len(r.Errors))
	}
	files := map[string][]byte{}
	for _, f := range r.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	return files, nil
}

// pack writes a file as gzip, by Zopfli, and as Brotli.
func (b bundler) pack(path string, body []byte) error {
	zopfli := exec.Command("node", "-e", "require('@gfx/zopfli').gzipAsync(require('fs').readFileSync(0), { numiterations: 15 }).then((out) => process.stdout.write(out))")
	zopfli.Dir, zopfli.Stdin, zopfli.Stderr = b.source, bytes.NewReader(body), os.Stderr
	zipped, err := zopfli.Output()
	if err != nil {
		return fmt.Errorf("run Zopfli: %w", err)
	}
	var br bytes.Buffer
	w := brotli.NewWriterLevel(&br, brotli.BestCompression)
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(path+".gz", zipped, 0o644); err != nil {
		return err
	}
	return os.WriteFile(path+".br", br.Bytes(), 0o644)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
