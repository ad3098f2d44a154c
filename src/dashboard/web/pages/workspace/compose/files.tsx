// The files of an email that is being written.

import { Button, ErrorText, formatBytes, t, useFieldErrors, useId, useState } from "../../../kit.ts";
import type { Draft } from "./draft.ts";

export function FileField({ draft }: { draft: Draft }) {
  const words = t().compose;
  const id = useId();
  const errors = useFieldErrors("attachments");
  const [files, setFiles] = useState(draft.files);
  const take = (chosen: File[]) => {
    draft.files = chosen;
    setFiles(chosen);
  };
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return (
    <div class="field">
      <label htmlFor={id}>{words.files}</label>
      <input
        id={id}
        class="input"
        type="file"
        multiple
        aria-describedby={`${id}-hint`}
        aria-invalid={errors.length > 0}
        onChange={({ currentTarget }) => {
          take([...files, ...(currentTarget.files ?? [])]);
          // The list below says which there are.
          currentTarget.value = "";
        }}
      />
      <p class="hint" id={`${id}-hint`}>
        {words.filesHint} {files.length > 0 && words.filesSum(formatBytes(bytes))}
      </p>
      {files.length > 0 && (
        <ul class="rows">
          {files.map((file, n) => (
            <li key={`${n} ${file.name}`}>
              <div class="row-text">
                <bdi>{file.name}</bdi>
                <span class="small soft">{formatBytes(file.size)}</span>
              </div>
              <Button
                aria-label={`${t().common.remove} ${file.name}`}
                onClick={() => take(files.filter((each) => each !== file))}
              >
                {t().common.remove}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {errors.length > 0 && (
        <div class="field-error">
          {errors.map((item) => (
            <ErrorText key={item.message} item={item} />
          ))}
        </div>
      )}
    </div>
  );
}
