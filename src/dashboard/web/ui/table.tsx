// A table that is a list of cards where it has no room: each cell then carries its column's name.

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  key: string;
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** The cell that names the row, its first line on a phone. */
  isName?: boolean;
  /** Buttons: without a heading. */
  isActions?: boolean;
  isNumber?: boolean;
}

interface TableProps<Row> {
  /** For screen readers. */
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  getKey: (row: Row) => string;
}

// Roles are written out: as cards its elements are no table for a browser any more.
export function Table<Row>({ caption, columns, rows, getKey }: TableProps<Row>) {
  return (
    <div class="table-frame">
      <table role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.key} role="columnheader" scope="col" class={toClass(column)}>
                {column.isActions === true ? <span class="unseen">{column.title}</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={getKey(row)} role="row">
              {columns.map((column) => (
                <Cell key={column.key} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const content = column.cell(row);
  if (column.isName === true)
    return (
      <th role="rowheader" scope="row" class={toClass(column)}>
        {content}
      </th>
    );
  return (
    <td role="cell" class={toClass(column)} data-title={column.isActions === true ? undefined : column.title}>
      {content}
    </td>
  );
}

function toClass({
  isName,
  isActions,
  isNumber,
}: Pick<Column<never>, "isName" | "isActions" | "isNumber">): string | undefined {
  if (isName === true) return "name";
  if (isActions === true) return "row-actions";
  return isNumber === true ? "number" : undefined;
}
