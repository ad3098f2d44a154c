// openapi-generator for Java, with its own choice of library. The package org.openapitools.client is generated.
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.EmailsApi;
import org.openapitools.client.api.SmsApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.EmailBatch;
import org.openapitools.client.model.EmailSend;
import org.openapitools.client.model.Errors;
import org.openapitools.client.model.SmsSend;
import org.openapitools.client.model.WebhookCreate;

public class Client {
  static final String FROM = System.getenv("POMBO_FROM");
  static final String TO = System.getenv("POMBO_TO");

  static void check(boolean holds, String step, Object seen) {
    if (!holds) throw new IllegalStateException(step + ": " + seen);
    System.out.println("step: " + step);
  }

  static EmailSend email(String from, String subject) {
    return new EmailSend().from(from).to(TO).subject(subject);
  }

  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("POMBO_URL"));
    client.setApiKey(System.getenv("POMBO_KEY"));
    EmailsApi emails = new EmailsApi(client);
    SmsApi texts = new SmsApi(client);
    WebhooksApi webhooks = new WebhooksApi(client);

    var sent = emails.sendEmail(email(FROM, "One").html("<p>Olá"), null, null).getData();
    check(sent.getStatus().getValue().equals("queued"), "send", sent);
    var both = List.of(email(FROM, "Two").text("x"), email(FROM, "Three").text("x"));
    var batch = emails.sendEmailBatch(new EmailBatch().emails(both), null, null).getData();
    check(batch.size() == 2, "batch", batch);

    var read = emails.getEmail(sent.getId()).getData();
    check(read.getSubject().equals("One") && read.getBounce() == null, "read", read);
    var first = emails.listEmails(1, 2, null, TO, null, "status");
    var second = emails.listEmails(2, 2, null, TO, null, "status");
    check(first.getMeta().getTotal() == 3 && second.getData().get(0).getId().equals(sent.getId()), "pages", second);

    List<UUID> made = new ArrayList<>();
    List<String> urls = new ArrayList<>();
    for (String name : List.of("a", "b")) {
      var hook = new WebhookCreate()
          .url(java.net.URI.create("https://" + name + "." + TO.split("@")[1] + "/hook"))
          .addEventsItem(WebhookCreate.EventsEnum.EMAIL_DELIVERED);
      var webhook = webhooks.createWebhook(hook).getData();
      made.add(webhook.getId());
      urls.add(webhook.getUrl());
    }
    List<String> found = new ArrayList<>();
    String cursor = null;
    do {
      var hooks = webhooks.listWebhooks(cursor, 1);
      for (var hook : hooks.getData()) found.add(hook.getUrl());
      cursor = hooks.getMeta().getNextCursor();
    } while (cursor != null);
    check(found.containsAll(urls), "cursor", found);
    check(webhooks.deleteWebhook(made.get(0)).getData().getDeleted(), "webhook", made);

    var text = texts.sendSms(new SmsSend().to("+258841234567").body(TO), null, null).getData();
    var sms = texts.getSms(text.getId()).getData();
    check(sms.getBody().equals(TO) && sms.getSegments() == 1, "sms", sms);

    try {
      emails.sendEmail(email("a@unverified.example", "x").text("x"), null, null);
      check(false, "error", "it was taken");
    } catch (ApiException refused) {
      var fault = Errors.fromJson(refused.getResponseBody()).getErrors().get(0);
      boolean isRead = fault.getCode().getValue().equals("VALIDATION_ERROR") && fault.getField().equals("from");
      check(refused.getCode() == 422 && isRead, "error", fault);
    }
    System.exit(0);
  }
}
