// Whether viewers and operators see what messages say: an owner decides, the others see how it is.

import { call, Card, Checkbox, type Data, Form, invalidate, showToast, t, useForm } from "../../../kit.ts";
import { Fact } from "../parts/fact.tsx";
import { may } from "../parts/rights.ts";

export function ContentSettings({ of }: { of: Data<"GET /api/v1/workspace"> }) {
  const words = t().content;
  return (
    <Card title={words.title}>
      <p class="soft">{words.text}</p>
      {may("share") ? <ContentForm of={of} /> : <ContentFacts of={of} />}
    </Card>
  );
}

function ContentForm({ of }: { of: Data<"GET /api/v1/workspace"> }) {
  const words = t().content;
  const form = useForm(async ({ viewersSeeContent, operatorsSeeContent }) => {
    const body = {
      viewersSeeContent: viewersSeeContent !== undefined,
      operatorsSeeContent: operatorsSeeContent !== undefined,
    };
    await call("PATCH /api/v1/workspace", { body });
    invalidate("/api/v1/workspace");
    showToast(t().common.saved);
  });
  return (
    <Form state={form} label={words.title} action={t().common.save}>
      <Checkbox name="viewersSeeContent" label={words.viewers} checked={of.viewersSeeContent} />
      <Checkbox
        name="operatorsSeeContent"
        label={words.operators}
        hint={words.operatorsHint}
        checked={of.operatorsSeeContent}
      />
    </Form>
  );
}

function ContentFacts({ of }: { of: Data<"GET /api/v1/workspace"> }) {
  const words = t().content;
  const { yes, no } = t().settings;
  return (
    <dl class="facts">
      <Fact name={words.viewers}>{of.viewersSeeContent ? yes : no}</Fact>
      <Fact name={words.operators}>{of.operatorsSeeContent ? yes : no}</Fact>
    </dl>
  );
}
