// Where a message that came by SMTP is read: a small one here, sooner than a thread wakes; a large one on the thread.

import type { ThreadClient } from "../../../platform/worker-threads/worker-thread.ts";
import { type GivenSubmission, readSubmitted, type ReadSubmission, type SubmissionFault } from "./read-submitted.ts";

const SMALL_BYTES = 64 * 1024;

export function createSubmissionReader(
  line: Pick<ThreadClient<GivenSubmission, ReadSubmission | SubmissionFault>, "call">,
): (pieces: Uint8Array[]) => Promise<ReadSubmission | SubmissionFault> {
  return (submitted) => {
    const bytes = submitted.reduce((sum, { length }) => sum + length, 0);
    return bytes > SMALL_BYTES ? line.call({ submitted }) : Promise.resolve(readSubmitted({ submitted }));
  };
}
