import type { FunctionComponent } from 'preact';
import { useMemo } from 'preact/hooks';
import { jsx } from 'preact/jsx-runtime';

// memo draws a component again only when one of its properties is another one: all of them are given each time.
export const memo = <P extends object>(draw: FunctionComponent<P>): FunctionComponent<P> => (props) => useMemo(() => jsx(draw, props), Object.values(props));
