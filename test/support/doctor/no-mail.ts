// What a doctor needs to send a test, for one that is to send none.

const refuse = () => {
  throw new Error("no test is to be sent");
};

export const NO_MAIL = { queueMail: refuse, attempts: { watch: refuse } };

export const NO_STORES = {
  emails: { findStateByUid: refuse },
  suppressions: { reasonFor: refuse },
  inbox: { findFrom: refuse },
};

/** Stores of an instance that never sent anything. */
export const NOTHING_SENT = {
  deliveryLook: { listBefore: () => [], countComplaints: () => [] },
  smsLook: {
    listMessagesBefore: () => [],
    listCreditsBefore: () => [],
    findWorkspace: () => null,
    listSenders: () => [],
    listUsedSenders: () => [],
  },
};

export const noCommit = () => Promise.reject(new Error("nothing is to be written"));
