import { Component, type ComponentType, type FunctionComponent } from 'preact';
import { jsx } from 'preact/jsx-runtime';

// memo draws a component again only when one of its properties is another one.
export function memo<P extends object>(draw: FunctionComponent<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return Object.keys({ ...this.props, ...next }).some((name) => this.props[name as keyof P] !== next[name as keyof P]);
    }

    override render() {
      return jsx(draw, this.props as P & object);
    }
  };
}
