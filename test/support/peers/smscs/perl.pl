#!/usr/bin/perl
# An SMSC that is not ours: Net::SMPP reads and writes, and Perl's own Encode decodes. In one process, so that the
# receipts of a transmitter's texts go to the receiver of the same account. What it reads is said in lines of JSON;
# see line.ts.
#   perl perl.pl PORT counter     upper case hexadecimal ids in answers, decimal ones in receipts
#   perl perl.pl PORT constant    the same id for everything
use strict;
use warnings;
use Encode qw(decode encode);
use IO::Select;
use JSON::PP;
use Net::SMPP;
use POSIX qw(strftime);
use Time::HiRes qw(time);

use constant { RECEIPT => 0x04, HEADER => 0x40, UCS2 => 8, RECEIPT_AFTER_S => 0.05 };
my ($port, $ids) = @ARGV;
my $next_id = 0xABCDEF01;
my (@due, @bound);
my $json = JSON::PP->new->canonical->utf8;
$| = 1;

sub say_line { print $json->encode($_[0]), "\n" }

sub text_of {
    my ($pdu) = @_;
    my $bytes = $pdu->{short_message};
    my $header = '';
    if ($pdu->{esm_class} & HEADER) {
        my $length = ord $bytes;
        $header = substr $bytes, 1, $length;
        $bytes = substr $bytes, 1 + $length;
    }
    my $alphabet = $pdu->{data_coding} == UCS2 ? 'UTF-16BE' : 'gsm0338';
    return (decode($alphabet, $bytes), unpack('H*', $header));
}

sub take {
    my ($from, $pdu) = @_;
    my ($text, $header) = text_of($pdu);
    my $number = $next_id++;
    my ($id, $said) = $ids eq 'constant' ? ('123456789', '123456789') : (sprintf('%X', $number), "$number");
    say_line({ submit => { from => $pdu->{source_addr}, to => $pdu->{destination_addr}, text => $text,
        udh => $header, esmClass => $pdu->{esm_class}, dataCoding => $pdu->{data_coding}, id => $id } });
    $from->submit_sm_resp(seq => $pdu->{seq}, message_id => $id);
    my %back = (source_addr => $pdu->{destination_addr}, destination_addr => $pdu->{source_addr});
    if ($pdu->{registered_delivery} & 1) {
        my ($stat, $err) = $pdu->{destination_addr} =~ /9$/ ? ('UNDELIV', '069') : ('DELIVRD', '000');
        my $date = strftime '%y%m%d%H%M', gmtime;
        my $words = "id:$said sub:001 dlvrd:001 submit date:$date done date:$date stat:$stat err:$err Text:Ola";
        push @due, { at => time + RECEIPT_AFTER_S, fields => { %back, esm_class => RECEIPT, short_message => $words } };
    }
    if ($text =~ /^Responda: (.*)/s) {
        push @due, { at => time, fields => { %back, data_coding => UCS2, short_message => encode('UTF-16BE', $1) } };
    }
}

my %answer = (
    Net::SMPP::CMD_enquire_link() => sub { $_[0]->enquire_link_resp(seq => $_[1]{seq}) },
    Net::SMPP::CMD_submit_sm() => \&take,
    Net::SMPP::CMD_deliver_sm_resp() => sub { say_line({ acknowledged => { status => $_[1]{status} } }) },
);
for my $bind (qw(transceiver transmitter receiver)) {
    my ($command, $method) = (Net::SMPP->can("CMD_bind_$bind")->(), "bind_${bind}_resp");
    $answer{$command} = sub {
        my ($from, $pdu) = @_;
        say_line({ bound => "bind_$bind" });
        $from->$method(seq => $pdu->{seq}, system_id => 'PERL');
        push @bound, $from if $bind ne 'transmitter';
    };
}

my $listener = Net::SMPP->new_listen('127.0.0.1', port => $port) or die "cannot listen: $!";
my $open = IO::Select->new($listener);
while (1) {
    for my $ready ($open->can_read(0.02)) {
        if ($ready == $listener) { $open->add($listener->accept); next }
        my $pdu = $ready->read_pdu;
        $answer{$pdu->{cmd}}->($ready, $pdu) if $pdu && $answer{$pdu->{cmd}};
        $ready->unbind_resp(seq => $pdu->{seq}) if $pdu && $pdu->{cmd} == Net::SMPP::CMD_unbind();
        next if $pdu && $pdu->{cmd} != Net::SMPP::CMD_unbind();
        @bound = grep { $_ != $ready } @bound;
        $open->remove($ready);
        close $ready;
    }
    # What nobody is bound for waits.
    while (@bound && @due && $due[0]{at} <= time) { $bound[0]->deliver_sm(async => 1, %{ (shift @due)->{fields} }) }
}
