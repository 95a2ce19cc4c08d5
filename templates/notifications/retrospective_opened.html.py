BBBBBBB BBBBBBBBBBBBBBBBBBBBBBBBBBBB
BBBB BBBB BBBBBBBBBBBB
BBBBB BBBBB
XXXBB BBBBBBBB gettext(u'%(line)s of %(project)s has reached its limit. Write down why, whether the work reached its goal, and what will be done differently.') SSSSSSSS SS SSSSSSSSSSS SSS SSSSSSS SSS SSSSSS SSSSS SSSS SSSS SSSSSSS SSS SSSS SSSSSSS SSS SSSSS SSS SSSS SSSS SS SSSS SSSSSSSSSSSSBBBB gettext(u'%(title)s is closed. Write down why it cost what it cost, whether it reached its goal, and what will be done differently.') SSSSSSSSS SS SSSSSSS SSSSS SSSS SSS SS SSSS SSSS SS SSSSS SSSSSSS SS SSSSSSS SSS SSSSS SSS SSSS SSSS SS SSSS SSSSSSSSSSSSBBBBBXXXX
BBBBBBBB
