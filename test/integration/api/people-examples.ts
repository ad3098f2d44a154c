// Requests about people that work as they stand, or fail as documented.

import { UNKNOWN_ID } from "../../support/api/kit.ts";
import { addPerson } from "../../support/people/member.ts";
import type { Instance, RequestOptions } from "../../support/fakes/instance.ts";

export interface Example {
  route: string;
  status: number;
  path?: string;
  options?: RequestOptions;
}

export function userExamples(pombo: Instance): Example[] {
  const options = { key: pombo.operator.key };
  const { id } = addPerson(pombo, { role: "viewer" });
  const users = "/api/v1/operator/users";
  return [
    { route: "POST /api/v1/operator/dashboard-link", status: 201, options },
    { route: `GET ${users}`, status: 200, options },
    { route: `POST ${users}/{id}/reset`, status: 201, path: `${users}/${id}/reset`, options },
    { route: `POST ${users}/{id}/reset`, status: 404, path: `${users}/${UNKNOWN_ID}/reset`, options },
    { route: `DELETE ${users}/{id}`, status: 200, path: `${users}/${id}`, options },
    { route: `DELETE ${users}/{id}`, status: 404, path: `${users}/${id}`, options },
  ];
}

export function memberExamples(pombo: Instance): Example[] {
  const { id, email } = addPerson(pombo, { role: "member" });
  const { id: ownerId } = addPerson(pombo, { role: "owner" });
  const invitations = "/api/v1/workspace/invitations";
  const members = "/api/v1/workspace/members";
  const body = (value: unknown) => ({ options: { body: value } });
  return [
    { route: "GET /api/v1/workspace", status: 200 },
    { route: "GET /api/v1/workspace/audit", status: 200 },
    { route: "GET /api/v1/workspace/credits", status: 200 },
    { route: "GET /api/v1/workspace/requests", status: 200 },
    { route: `GET ${members}`, status: 200 },
    { route: `PATCH ${members}/{id}`, status: 200, path: `${members}/${id}`, ...body({ role: "viewer" }) },
    { route: `PATCH ${members}/{id}`, status: 403, path: `${members}/${ownerId}`, ...body({ role: "viewer" }) },
    { route: `PATCH ${members}/{id}`, status: 404, path: `${members}/${UNKNOWN_ID}`, ...body({ role: "viewer" }) },
    { route: `POST ${invitations}`, status: 201, ...body({ email: "rui@example.com", role: "admin" }) },
    { route: `POST ${invitations}`, status: 409, ...body({ email, role: "admin" }) },
    { route: `POST ${invitations}`, status: 422, ...body({ email: "rui", role: "king" }) },
    { route: `GET ${invitations}`, status: 200 },
    { route: `POST ${invitations}/{id}/resend`, status: 200, path: `${invitations}/NEWEST/resend` },
    { route: `DELETE ${invitations}/{id}`, status: 200, path: `${invitations}/NEWEST` },
    { route: `DELETE ${invitations}/{id}`, status: 404, path: `${invitations}/${UNKNOWN_ID}` },
    { route: `DELETE ${members}/{id}`, status: 200, path: `${members}/${id}` },
    { route: `DELETE ${members}/{id}`, status: 403, path: `${members}/${ownerId}` },
  ];
}
