// The page behind a link: setup, recovery, an invitation, a mailed sign-in, the sandbox. The link says which.

import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { ApiError, call } from "../../api/client.ts";
import type { Body, Data } from "../../api/calls.ts";
import { t } from "../../i18n/index.ts";
import { me, takeMe } from "../../state/session.ts";
import { signOut } from "../../state/sign-out.ts";
import { showToast } from "../../state/toasts.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, useForm } from "../../ui/form.tsx";
import { ErrorNotice, Loading, Notice } from "../../ui/page.tsx";
import { AccountForm } from "./account-form.tsx";
import { Frame } from "./frame.tsx";
import { Review } from "./review.tsx";

type Link = Data<"POST /api/v1/auth/links/inspect">;
type Use = Body<"POST /api/v1/auth/links/use">;

/** Behind the #, so that no server and no proxy has it in a log. */
const readToken = () => location.hash.slice(1);

/** The sign-in page, which leads back here. The token stays behind the #. */
const buildSignInPath = (token: string) => `/dashboard/signin?next=${location.pathname}#${token}`;

export function LinkPage() {
  const [token] = useState(readToken);
  const [link, setLink] = useState<Link | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const inspect = async () => {
    setError(null);
    try {
      setLink((await call("POST /api/v1/auth/links/inspect", { body: { token } })).data);
    } catch (caught) {
      if (!(caught instanceof ApiError)) throw caught;
      setError(caught);
    }
  };
  useEffect(() => {
    if (token !== "") void inspect();
  }, [token]);
  const words = t().entrance;
  if (token === "" || error?.code === "LINK_USED" || error?.code === "VALIDATION_ERROR") return <UsedLink />;
  if (error !== null)
    return (
      <Frame title={words.linkTitle}>
        <ErrorNotice error={error} retry={() => void inspect()} />
      </Frame>
    );
  return link === null || me.value === undefined ? <Loading /> : <OpenLink link={link} token={token} />;
}

function UsedLink() {
  const words = t().entrance;
  const isSignedIn = Boolean(me.value);
  return (
    <Frame title={words.usedTitle} intro={isSignedIn ? words.usedSignedIn : words.used}>
      <LinkButton href={isSignedIn ? "/dashboard" : "/dashboard/signin"} look="primary">
        {isSignedIn ? t().shell.goHome : words.signIn}
      </LinkButton>
    </Frame>
  );
}

function OpenLink({ link, token }: { link: Link; token: string }) {
  const { route } = useLocation();
  const use = async (given: Omit<Use, "token">) => {
    await takeMe((await call("POST /api/v1/auth/links/use", { body: { token, ...given } })).data);
    // The used link is not left in the history.
    route("/dashboard", true);
  };
  const words = t().entrance;
  const given = { token, email: link.email ?? "", use };
  switch (link.kind) {
    case "setup":
      return (
        <Frame title={words.setupTitle} intro={words.setup}>
          {link.review !== undefined && <Review review={link.review} />}
          <AccountForm {...given} hasPerson />
        </Frame>
      );
    case "reset":
      return (
        <Frame title={words.resetTitle} intro={words.reset(link.email ?? "")}>
          {link.review !== undefined && <Review review={link.review} />}
          <AccountForm {...given} />
        </Frame>
      );
    case "invitation":
      return <Invitation link={link} {...given} />;
    case "email":
      return <ProveAddress {...given} />;
    case "magic":
    case "sandbox":
      return <EnterAtOnce use={use} />;
  }
}

interface Given {
  token: string;
  email: string;
  use: (given: Omit<Use, "token">) => Promise<void>;
}

function Invitation({ link, ...given }: Given & { link: Link }) {
  const words = t().entrance;
  const role = link.role === undefined ? "" : t().roles[link.role];
  const workspace = link.workspaceName ?? "";
  const form = useForm(async () => {
    await given.use({});
    showToast(words.joined(workspace));
  });
  const intro = link.invitedBy ? words.invitedBy(link.invitedBy, role) : words.invited(role);
  const user = me.value?.user;
  return (
    <Frame title={words.inviteTitle(workspace)} intro={intro}>
      {user === undefined ? (
        <>
          <AccountForm {...given} hasPerson />
          <p class="soft small">
            {words.haveAccount} <a href={buildSignInPath(given.token)}>{words.signIn}</a>
          </p>
        </>
      ) : (
        <Form state={form}>
          <Notice>
            <p>{words.joinAs(user.name, user.email)}</p>
          </Notice>
          <Button type="submit" look="primary" isBusy={form.isBusy}>
            {words.join}
          </Button>
          <Button look="bare" onClick={() => void signOut()}>
            {words.somebodyElse}
          </Button>
        </Form>
      )}
    </Frame>
  );
}

function ProveAddress({ token, email, use }: Given) {
  const words = t().entrance;
  const form = useForm(async () => {
    await use({});
    showToast(words.addressProved);
  });
  return (
    <Frame title={words.addressTitle} intro={words.address(email)}>
      {me.value ? (
        <Form state={form}>
          <Button type="submit" look="primary" isBusy={form.isBusy}>
            {words.confirmAddress}
          </Button>
        </Form>
      ) : (
        <LinkButton look="primary" href={buildSignInPath(token)}>
          {words.signIn}
        </LinkButton>
      )}
    </Frame>
  );
}

/** The link is the proof; a second factor is asked for where there is one. */
function EnterAtOnce({ use }: Pick<Given, "use">) {
  const [needsCode, setNeedsCode] = useState(false);
  const form = useForm(async ({ code = "" }) => {
    try {
      await use(code === "" ? {} : { code: code.replaceAll(" ", "") });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "SECOND_FACTOR_REQUIRED" || needsCode) throw error;
      setNeedsCode(true);
    }
  });
  useEffect(() => form.submit({}), []);
  const words = t().entrance;
  return (
    <Frame title={words.signInTitle}>
      <Form state={form}>
        {needsCode ? (
          <>
            <Field
              name="code"
              label={words.code}
              hint={words.codeHint}
              autoComplete="one-time-code"
              isFocused
              required
            />
            <Button type="submit" look="primary" isBusy={form.isBusy}>
              {words.signIn}
            </Button>
          </>
        ) : (
          form.error === null && <Loading />
        )}
        {form.error !== null && !needsCode && <LinkButton href="/dashboard/signin">{words.signIn}</LinkButton>}
      </Form>
    </Frame>
  );
}
