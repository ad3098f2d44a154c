# Sends the messages of a file with Rails' ActionMailer.

require 'json'
require 'action_mailer'

implicit = ENV['SMTP_TLS'] == 'implicit'
ActionMailer::Base.smtp_settings = {
  address: ENV['SMTP_HOST'], port: ENV['SMTP_PORT'].to_i, authentication: :plain,
  user_name: ENV['SMTP_USER'], password: ENV['SMTP_PASSWORD'],
  tls: implicit, enable_starttls: !implicit, ca_file: ENV['SMTP_CA'], openssl_verify_mode: 'peer'
}

class ShopMailer < ActionMailer::Base
  def notice(fields)
    fields['attachments'].each do |each|
      attachments[each['filename']] = { mime_type: each['contentType'], content: File.binread(each['path']) }
    end
    headers 'X-Sample' => fields['key']
    from, to, cc, bcc = [[fields['from']], fields['to'], fields['cc'], fields['bcc']].map { |people| listed(people) }
    mail(from: from, to: to, cc: cc, bcc: bcc, subject: fields['subject']) do |format|
      format.text { render plain: fields['text'] }
      format.html { render html: fields['html'].html_safe } unless fields['html'].nil?
    end
  end

  private

  def listed(people)
    people.map { |each| email_address_with_name(each['address'], each['name']) }
  end
end

JSON.parse(File.read(ARGV[0], encoding: 'UTF-8')).each do |fields|
  ShopMailer.notice(fields).deliver_now
  puts "sent #{fields['key']}"
end
