BBBB BBBB BBBBBBBBBBBBBBBBBBBBBB BBB gettext(u'Hello %(name)s,') SSSSS SSSSSSSSS

 gettext(u'%(line)s of %(project)s (%(start)s to %(end)s): %(value)s %(currency)s, against %(limit)s %(currency)s.') SSSSSSSS SS SSSSSSSSSSS SSSSSSSSSS SS SSSSSSSSS SSSSSSSSS SSSSSSSSSSSSS SSSSSSS SSSSSSSSS SSSSSSSSSSSSS

BB BBBBBBBBBB gettext(u'Some cost is not known yet, so the true figure is at least this.') 

BBBBB gettext(u'State the cause on the page of the warning; then it stays quiet.') 


BBBBBBBBBBBBB