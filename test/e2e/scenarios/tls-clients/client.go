// Prints the TLS version of a port whose chain and name Go trusts: client.go PORT CA-FILE NAME
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"
)

func main() {
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	connection, err := tls.Dial("tcp", "127.0.0.1:"+os.Args[1], &tls.Config{RootCAs: roots, ServerName: os.Args[3]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tls.VersionName(connection.ConnectionState().Version))
}
