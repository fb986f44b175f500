import { Component, type ComponentType, type FunctionComponent, h } from 'preact';

// memo draws a component again only when one of its properties is another one.
export function memo<P extends object>(draw: FunctionComponent<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return Object.keys({ ...this.props, ...next }).some((name) => this.props[name as keyof P] !== next[name as keyof P]);
    }

    override render() {
      return h(draw, this.props as P & object);
    }
  };
}
