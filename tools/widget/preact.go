package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// modules are the sources of Preact's modules. The package has them beside its bundles, of which nothing can be left out.
var modules = map[string]string{"preact": "src/index.js", "preact/hooks": "hooks/src/index.js", "preact/jsx-runtime": "jsx-runtime/src/index.js"}

// unused are the parts of Preact's sources that the page doesn't need, each with its replacement: hydration, Suspense, portals, contexts,
// HTML strings, style objects, class components, and hooks of other libraries.
var unused = map[string][]string{
	"src/diff/index.js": {
		"oldVNode._flags & MODE_SUSPENDED &&", "false &&",
		"const isClassComponent = (tmp = newType.prototype) && tmp.render;", "", "isClassComponent", "false",
		"tmp = newType.contextType;", "",
		"const provider = tmp && globalContext[tmp._id];", "",
		"const componentContext = tmp\n				? provider\n					? provider.props.value\n					: tmp._defaultValue\n				: globalContext;", "", ",\n						componentContext\n					);\n\n					c.constructor = newType;\n					c.render = doRender;", ");",
		"if (!c.state) c.state = {};", "", "oldState = c.state;", "", "c._stateCallbacks = [];", "", "EMPTY_ARR.push.apply(c._renderCallbacks, c._stateCallbacks);", "", "c.context = componentContext;", "", "c.state = c._nextState;", "",
		"c.render(c.props, (c.state = c._nextState), c.context)", "newType(newProps)",
		"!(c._bits & COMPONENT_FORCE) &&\n						c.shouldComponentUpdate &&", "false &&",
		"if (newVNode._original != oldVNode._original) {", "if (false) {", "c._bits &= ~COMPONENT_FORCE;", "", "if (!(e && e.then)) markAsForce(newVNode);", "",
		"if (c.componentWillUpdate)", "if (false)",
		"if (c.getChildContext)", "if (false)",
		"if (newProps._parentDom) {\n				tmp", "if (false) {\n				tmp",
		"if (newProps._parentDom) {\n				newVNode", "if (false) {\n				newVNode",
		"if (resumed) resumed.some(removeNode);", "",
		"if (isHydrating || excessDomChildren) {", "if (false) {",
		"else if (nodeType == 'math') namespace = MATH_NAMESPACE;", "",
		"if (excessDomChildren) {\n		for (i = 0;", "if (false) {\n		for (i = 0;",
		"const doc = parentDom.ownerDocument || document;", "const doc = document;",
		"newProps.is ? newProps : parentDom\n", "",
		"if (isHydrating) {\n			if (options", "if (false) {\n			if (options",
		"&& (!isHydrating || dom.data != newProps)", "",
		"parentDom = (nodeType == 'template' && dom.content) || dom;", "parentDom = dom;",
		"excessDomChildren =\n			nodeType == 'textarea' && newProps.defaultValue != NULL\n				? NULL\n				: excessDomChildren && slice.call(parentDom.childNodes);", "",
		"if (!isHydrating && excessDomChildren) {", "if (false) {",
		"if (i == 'dangerouslySetInnerHTML') {\n				oldHtml = value;\n			} else if", "if",
		"} else if (i == 'dangerouslySetInnerHTML') {\n				newHtml = value;\n			}", "}",
		"(!isHydrating || typeof value == 'function') &&", "",
		"if (newHtml) {", "if (false) {",
		"if (oldHtml) dom.textContent = '';", "",
		"nodeType == 'foreignObject' ||\n				(namespace == MATH_NAMESPACE && MATHML_TOKEN_ELEMENTS.test(nodeType))", "false",
		"if (excessDomChildren) excessDomChildren.some(removeNode);", "",
		"if (!isHydrating || nodeType == 'textarea') {", "if (true) {",
		"? skipRemove && !vnode.props._parentDom", "? skipRemove",
		"!skipRemove &&\n		(r = vnode._component) &&", "false &&",
		"if (r.componentWillUnmount)", "if (false)",
		"typeof ref == 'function'", "false",
		"if (provider) provider.sub(c);", "",
		"globalContext,\n", "", "excessDomChildren,\n", "", "isHydrating,\n", "", "c._globalContext = globalContext;", "", "r._parentDom = r._globalContext = NULL;", "r._parentDom = NULL;",
		"can be reused:\n		excessDomChildren = NULL;", "can be reused", "excessDomChildren\n					? excessDomChildren[0]\n					: oldVNode", "oldVNode", "if (c._bits & COMPONENT_PENDING_ERROR) {", "if (false) {", "if (c._bits & COMPONENT_PROCESSING_EXCEPTION) {", "if (false) {",
	},
	"src/diff/children.js": {
		"if (parentVNode.props._parentDom) return oldDom;", "",
		"while (next && next.nodeType == 8) next = next.nextSibling;", "",
		"while (\n		(oldDom = oldDom && oldDom.nextSibling) &&\n		oldDom.nodeType == 8 &&\n		!oldDom.data.startsWith('$s')\n	);\n\n	return oldDom;", "return oldDom && oldDom.nextSibling;",
		" || oldVNode._flags & REF_DETACHED", "",
		"childVNode.constructor === String", "false",
		"globalContext,\n", "", "excessDomChildren,\n", "", "isHydrating,\n", "",
	},
	"src/diff/catch-error.js": {"	let component,", "	throw error;\n	let component,"},
	"src/diff/props.js": {
		"name != 'width' &&\n			name != 'height' &&\n			name != 'href' &&\n			name != 'list' &&\n			name != 'form' &&", "", "name != 'download' &&\n			name != 'rowSpan' &&\n			name != 'colSpan' &&", "", "name != 'popover' &&", "",
		"if (name == 'style')", "if (false)",
		"name != (name = name.replace(CAPTURE_REGEX, '$1'))", "false",
		"name = name.replace(/xlink(H|:h)/, 'h').replace(/sName$/, 's');", "",
		"options.event ? options.event(e) : e", "e",
		"name == 'popover' && value == true ? '' : value", "value",
	},
	"src/component.js": {
		" && !vnode.props._parentDom\n		?", "\n		?",
		" && !vnode.props._parentDom) {", ") {",
		"component._globalContext,\n", "", "oldVNode._flags & MODE_HYDRATE ? [oldDom] : NULL,\n", "", "oldVNode._flags & MODE_HYDRATE,\n", "",
		"if (options.vnode) options.vnode(newVNode);", "",
		" ||\n		prevDebounce != options.debounceRendering", "",
		"prevDebounce = options.debounceRendering;", "",
		"export function BaseComponent(props, context) {", "export function BaseComponent(props) {", "this.context = context;", "", "BaseComponent.prototype.render = Fragment;", "",
		"BaseComponent.prototype.setState = function (update, callback) {", "const setState = function (update, callback) {", "BaseComponent.prototype.forceUpdate =", "const forceUpdate =",
	},
	"src/create-element.js": {"if (!original && options.vnode) options.vnode(vnode);", ""},
	"src/render.js": {
		"let isHydrating = vnode && vnode._flags & MODE_HYDRATE;", "let isHydrating = false;",
		"if (options._root) options._root(vnode, parentDom);", "",
		"if (parentDom.nodeType == 9)", "if (false)",
		"EMPTY_OBJ,\n		EMPTY_OBJ,\n", "EMPTY_OBJ,\n", "oldVNode\n			? NULL\n			: parentDom.firstChild\n				? slice.call(parentDom.childNodes)\n				: NULL,\n", "", "isHydrating,\n", "",
	},
	"jsx-runtime/src/index.js": {
		"import { options, Fragment } from 'preact';", "import { Fragment } from 'preact';\nimport { createVNode as made } from '../../src/create-element';\nconst options = {};",
		"const vnode = {\n		type,\n		props: normalizedProps,\n		key,\n		ref,\n		_children: null,\n		_parent: null,\n		_depth: 0,\n		_dom: null,\n		_component: null,\n		constructor: VNODE_MARKER,\n		_original: --vnodeId,\n		_index: -1,\n		_flags: 0\n	};", "const vnode = made(type, normalizedProps, key, ref);",
		"if (__source || __self)", "if (false)", "if (options.vnode) options.vnode(vnode);", "",
	},
	"hooks/src/index.js": {
		"if (oldBeforeDiff) oldBeforeDiff(vnode);", "", "let oldBeforeDiff = options._diff;", "",
		"if (oldBeforeRender) oldBeforeRender(vnode);", "", "let oldBeforeRender = options._render;", "",
		"if (oldAfterDiff) oldAfterDiff(vnode);", "", "let oldAfterDiff = options.diffed;", "",
		"if (oldCommit) oldCommit(vnode, commitQueue);", "", "let oldCommit = options._commit;", "",
		"if (oldBeforeUnmount) oldBeforeUnmount(vnode);", "", "let oldBeforeUnmount = options.unmount;", "",
		"let oldRoot = options._root;", "",
		"options._root = (vnode, parentDom) => {\n	if (vnode && parentDom._children && parentDom._children._mask) {\n		vnode._mask = parentDom._children._mask;\n	}\n\n	if (oldRoot) oldRoot(vnode, parentDom);\n};", "",
		"if (options._hook) {", "if (false) {",
		"				if (s._passive && s._cleanup) {\n					if (errorParent === undefined) {\n						errorParent = vnode._parent;\n						while (\n							errorParent &&\n							!(errorParent._component && errorParent._component._parentDom)\n						) {\n							errorParent = errorParent._parent;\n						}\n						errorParent = errorParent && errorParent._component;\n					}\n					s._passive = errorParent;\n					afterPaint(unmountCleanups.push(s));\n				} else {\n					invokeCleanup(s);\n				}", "invokeCleanup(s);", "		// Unmounted components' passive cleanups run before any new passive\n		// effect, mirroring React running all destroys before any create.\n		while ((component = unmountCleanups.shift())) {\n			try {\n				invokeCleanup(component);\n			} catch (e) {\n				component = /** @type {any} */ (component._passive);\n				options._catchError(e, { _parent: component && component._vnode });\n			}\n		}\n\n", "", "} while (unmountCleanups.length);", "} while (false);",
		"import { options as _options } from 'preact';", "import { options as _options } from 'preact';\nimport { enqueueRender } from '../../src/component';",
		"hookState._component.setState({});", "if (hookState._component._vnode) enqueueRender(hookState._component);",
		"if (!currentComponent._hasScuFromHooks) {", "if (false) {",
		"try {\n			component._renderCallbacks.some(invokeCleanup);", "component._renderCallbacks.some(invokeCleanup);", "		} catch (e) {\n			// Only this component skips its remaining effects, commitRoot rethrows\n			// the error to its boundary after the others ran.\n			component._renderCallbacks = [\n				() => {\n					throw e;\n				}\n			];\n		}\n", "",
		"return useReducer(invokeOrReturn, initialState);", "return useReducer(0, initialState);",
		"hookState._reducer = reducer;", "", "hookState._reducer(currentValue, action)", "invokeOrReturn(currentValue, action)",
		"!init ? invokeOrReturn(undefined, initialState) : init(initialState)", "invokeOrReturn(undefined, initialState)",
		"currentHook = 1;", "", "currentHook = 5;", "", "currentHook = 8;", "", "currentHook = 0;\n\n	//", "//",
		"!options._skipEffects && argsChanged(state._args, args)", "argsChanged(state._args, args)",
		"let HAS_RAF = typeof requestAnimationFrame == 'function';", "const HAS_RAF = true;",
		" || prevRaf != options.requestAnimationFrame", "", "prevRaf = options.requestAnimationFrame;", "", "(prevRaf || afterNextFrame)(", "afterNextFrame(",
	},
}

// preact bundles Preact without the parts that the page doesn't need.
func (b bundler) preact() api.Plugin {
	top := filepath.Join(must(filepath.Abs(b.source)), "node_modules", "preact")
	return api.Plugin{Name: "preact", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: `^preact(/|$)`}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: filepath.Join(top, modules[args.Path]), SideEffects: api.SideEffectsFalse}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: `/preact/.*\.js$`}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			source, err := os.ReadFile(args.Path)
			if err != nil {
				return api.OnLoadResult{}, err
			}
			text, name := string(source), strings.TrimPrefix(args.Path, top+"/")
			for pairs := unused[name]; len(pairs) > 0; pairs = pairs[2:] {
				if !strings.Contains(text, pairs[0]) {
					return api.OnLoadResult{}, fmt.Errorf("%s of Preact has no %q", name, pairs[0])
				}
				text = strings.ReplaceAll(text, pairs[0], pairs[1])
			}
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
		})
	}}
}
