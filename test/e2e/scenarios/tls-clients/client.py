# Prints the TLS version of a port whose chain and name Python trusts: client.py PORT CA-FILE NAME
import socket
import ssl
import sys

port, ca, name = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
with context.wrap_socket(socket.create_connection(("127.0.0.1", int(port))), server_hostname=name) as connection:
    print(connection.version())
