// An owner lets viewers and operators see what messages say.

import {
  call,
  Card,
  Checkbox,
  ErrorNotice,
  Form,
  invalidate,
  Loading,
  showToast,
  t,
  useCall,
  useForm,
} from "../../../kit.ts";

export function ContentSettings() {
  const words = t().content;
  const { data, error, reload } = useCall("GET /api/v1/workspace");
  const form = useForm(async ({ viewersSeeContent, operatorsSeeContent }) => {
    const body = {
      viewersSeeContent: viewersSeeContent !== undefined,
      operatorsSeeContent: operatorsSeeContent !== undefined,
    };
    await call("PATCH /api/v1/workspace", { body });
    invalidate("/api/v1/workspace");
    showToast(t().common.saved);
  });
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} retry={reload} />;
  return (
    <Card title={words.title}>
      <p class="soft">{words.text}</p>
      <Form state={form} action={t().common.save}>
        <Checkbox name="viewersSeeContent" label={words.viewers} checked={data.viewersSeeContent} />
        <Checkbox
          name="operatorsSeeContent"
          label={words.operators}
          hint={words.operatorsHint}
          checked={data.operatorsSeeContent}
        />
      </Form>
    </Card>
  );
}
