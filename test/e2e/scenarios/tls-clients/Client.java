// Prints the TLS version of a port whose chain and name Java trusts: java Client.java PORT CA-FILE NAME
import java.io.FileInputStream;
import java.net.Socket;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

public class Client {
  public static void main(String[] args) throws Exception {
    KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
    roots.load(null, null);
    try (FileInputStream pem = new FileInputStream(args[1])) {
      roots.setCertificateEntry("root", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(roots);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    int port = Integer.parseInt(args[0]);
    Socket plain = new Socket("127.0.0.1", port);
    try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(plain, args[2], port, true)) {
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      System.out.println(socket.getSession().getProtocol());
    }
  }
}
