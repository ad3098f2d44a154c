import { useLayoutEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Loading } from "../../ui/page.tsx";

export function Redirect({ to }: { to: string }) {
  const { route } = useLocation();
  useLayoutEffect(() => route(to, true), [to]);
  return <Loading />;
}
