BBBB BBBB BBBBBBBBBBBBBBBBBBBBBB BBB gettext(u'Hello %(name)s,') SSSSS SSSSSSSSS

 gettext(u'%(line)s of %(project)s (%(start)s to %(end)s): forecast %(value)s %(currency)s, against %(limit)s %(currency)s.') SSSSSSSS SS SSSSSSSSSSS SSSSSSSSSS SS SSSSSSSSS SSSSSSSS SSSSSSSSS SSSSSSSSSSSSS SSSSSSS SSSSSSSSS SSSSSSSSSSSSS

 gettext(u'There is still time: transfer, ask for more, or spend less. State the cause on the page of the warning.') 


BBBBBBBBBBBBB