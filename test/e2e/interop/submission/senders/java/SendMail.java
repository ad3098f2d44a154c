// Sends the messages of a file with Angus Mail, once called Jakarta Mail and JavaMail.

import com.google.gson.Gson;
import jakarta.mail.Authenticator;
import jakarta.mail.Message;
import jakarta.mail.PasswordAuthentication;
import jakarta.mail.Session;
import jakarta.mail.Transport;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeBodyPart;
import jakarta.mail.internet.MimeMessage;
import jakarta.mail.internet.MimeMultipart;
import java.io.FileInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Date;
import java.util.List;
import java.util.Properties;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class SendMail {
  record Person(String name, String address) {}

  record Attachment(String filename, String contentType, String path) {}

  record Fields(String key, Person from, List<Person> to, List<Person> cc, List<Person> bcc,
      String subject, String text, String html, List<Attachment> attachments) {}

  public static void main(String[] args) throws Exception {
    var session = openSession();
    for (var fields : new Gson().fromJson(Files.readString(Path.of(args[0])), Fields[].class)) {
      Transport.send(compose(session, fields));
      System.out.println("sent " + fields.key);
    }
  }

  static Session openSession() throws Exception {
    var isImplicit = System.getenv("SMTP_TLS").equals("implicit");
    var settings = new Properties();
    settings.put("mail.smtp.host", System.getenv("SMTP_HOST"));
    settings.put("mail.smtp.port", System.getenv("SMTP_PORT"));
    settings.put("mail.smtp.auth", "true");
    settings.put("mail.smtp.ssl.enable", String.valueOf(isImplicit));
    settings.put("mail.smtp.starttls.enable", String.valueOf(!isImplicit));
    settings.put("mail.smtp.starttls.required", String.valueOf(!isImplicit));
    settings.put("mail.smtp.ssl.checkserveridentity", "true");
    settings.put("mail.smtp.ssl.socketFactory", trust(System.getenv("SMTP_CA")).getSocketFactory());
    return Session.getInstance(settings, new Authenticator() {
      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        return new PasswordAuthentication(System.getenv("SMTP_USER"), System.getenv("SMTP_PASSWORD"));
      }
    });
  }

  static SSLContext trust(String authority) throws Exception {
    var roots = KeyStore.getInstance(KeyStore.getDefaultType());
    roots.load(null, null);
    try (var pem = new FileInputStream(authority)) {
      roots.setCertificateEntry("root", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(roots);
    var context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  static MimeMessage compose(Session session, Fields fields) throws Exception {
    var message = new MimeMessage(session);
    message.setFrom(address(fields.from));
    for (var each : fields.to) message.addRecipient(Message.RecipientType.TO, address(each));
    for (var each : fields.cc) message.addRecipient(Message.RecipientType.CC, address(each));
    for (var each : fields.bcc) message.addRecipient(Message.RecipientType.BCC, address(each));
    message.setSubject(fields.subject, "UTF-8");
    message.setSentDate(new Date());
    message.setHeader("X-Sample", fields.key);
    if (fields.html == null && fields.attachments.isEmpty()) {
      message.setText(fields.text, "UTF-8");
      return message;
    }
    var parts = new MimeMultipart(fields.html == null ? "mixed" : "alternative");
    var text = new MimeBodyPart();
    text.setText(fields.text, "UTF-8");
    parts.addBodyPart(text);
    if (fields.html != null) {
      var html = new MimeBodyPart();
      html.setText(fields.html, "UTF-8", "html");
      parts.addBodyPart(html);
    }
    for (var each : fields.attachments) {
      var file = new MimeBodyPart();
      file.attachFile(each.path, each.contentType, "base64");
      file.setFileName(each.filename);
      parts.addBodyPart(file);
    }
    message.setContent(parts);
    return message;
  }

  static InternetAddress address(Person person) throws Exception {
    return new InternetAddress(person.address, person.name.isEmpty() ? null : person.name, "UTF-8");
  }
}
