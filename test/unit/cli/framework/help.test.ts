// Help fits a screen of 80 columns, and says each thing whole.
import { expect, test } from "bun:test";
import { COMMANDS } from "../../../../src/cli/command-table.ts";
import { commandHelp, exitCodes, groupHelp, overview } from "../../../../src/cli/framework/help.ts";

const words = (text: string) => text.split(/\s+/).join(" ");

test.each(COMMANDS.map((command) => [command.name, command] as const))("pombo %s --help", (_, command) => {
  const help = commandHelp(command);
  for (const line of help.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(words(help)).toContain(words(command.about));
  for (const [name, option] of Object.entries(command.options)) {
    if (!("about" in option)) continue;
    const value = option.value === undefined ? "" : ` ${option.value}`;
    expect(words(help)).toContain(`--${name}${value} ${words(option.about)}`);
  }
  const group = groupHelp(COMMANDS.filter(({ name }) => name.split(" ")[0] === command.name.split(" ")[0]));
  for (const line of group.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(words(group)).toContain(words(command.about));
});

test("the overview and the exit codes", () => {
  for (const line of [...overview(COMMANDS).split("\n"), ...exitCodes().split("\n")])
    expect(line.length).toBeLessThanOrEqual(80);
});

test("a group names the options that each of its commands takes, and no others", () => {
  const groups = Map.groupBy(
    COMMANDS.filter(({ name }) => name.includes(" ")),
    ({ name }) => name.split(" ")[0] ?? "",
  );
  for (const [first, members] of groups) {
    const [, given = ""] = /Each also takes (.*)\.$/.exec(groupHelp(members)) ?? [];
    const named = [...given.matchAll(/--([a-z-]+)/g)].map(([, name = ""]) => name);
    expect(named).toContain("help");
    for (const name of named.filter((each) => each !== "help"))
      for (const { options } of members)
        expect([first, Object.keys(options)]).toEqual([first, expect.arrayContaining([name])]);
  }
});
