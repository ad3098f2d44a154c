// The words of the page of SMS credits, in English.

export const credits = {
  title: "SMS credits",
  text: "Each part of an SMS takes one. Only the operator of this server grants more.",
  write: "Write an SMS",
  none: "There were no credits yet.",
  noneText: "The operator of this server grants them.",
  left: "Credits left",
  entries: "Changes of the balance",
  what: "What",
  change: "Change",
  balance: "Balance then",
  when: "When",
  granted: "Granted by the operator",
  deducted: "Deducted by the operator",
  kinds: {
    reservation: (parts: number) => (parts === 1 ? "SMS of 1 part" : `SMS of ${parts} parts`),
    refund: (parts: number) =>
      parts === 1 ? "Given back: 1 part was not sent" : `Given back: ${parts} parts were not sent`,
    writeoff: (parts: number) =>
      parts === 1
        ? "1 part was sent after all; its credit stays given back"
        : `${parts} parts were sent after all; their credits stay given back`,
  },
};
