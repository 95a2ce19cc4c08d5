BBBB BBBB BBBBBBBBBBBBBBBBBBBBBB BBB gettext(u'Hello %(name)s,') SSSSS SSSSSSSSS

 gettext(u'From a retrospective of %(project)s: %(text)s') SSSS S SSSSSSSSSSSSS SS SSSSSSSSSSSS SSSSSSSS

BB BBBBBB gettext(u'Until %(due_on)s.') SSSSS SSSSSSSSSSS

BBBBB
BBBBBBBBBBBBB